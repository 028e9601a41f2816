export const OUTSIDE: string[];
export const outsideImports: string[];
