/** The order of test files: those that take longest begin first, so that none of them is left alone at the end. */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** In the order of the time that they take; the others follow as vitest sorts them. */
const SLOW = [
  "test/laws/matrix.test.ts",
  "test/fuzz/params.test.ts",
  "test/crash/store-faults.test.ts",
  "test/code-blocks.test.ts",
  "test/examples.test.ts",
  "test/crash/every-commit.test.ts",
  "test/crash/turn.test.ts",
  "test/crash/tree.test.ts",
  "test/laws/kills.test.ts",
  "test/release.test.ts",
];

export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ moduleId }: TestSpecification) => {
      const at = SLOW.findIndex((slow) => moduleId.endsWith(`/${slow}`));
      return at < 0 ? SLOW.length : at;
    };
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}
