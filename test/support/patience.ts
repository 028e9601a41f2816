/**
 * How long tests wait. One figure for all of them, long enough for a machine that is busy with other things: there a test is slow, and
 * not wrong. None of these is a claim about speed.
 */

/** For something that must come, by itself or from another process. */
export const PATIENCE_MS = 90_000;

/** For a whole test: longer, so that what it waited for in vain is named. */
export const TEST_MS = 300_000;
