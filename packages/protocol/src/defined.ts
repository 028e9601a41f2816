/** Objects without the members that have no value. */

/** Members that may be undefined become optional, and all others stay as they are. */
export type Defined<T extends object> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K];
} & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/**
 * For an object that is merged into another one, or whose keys somebody looks at. What is only serialised does not need it:
 * JSON leaves out what is undefined.
 */
export function defined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Defined<T>;
}
