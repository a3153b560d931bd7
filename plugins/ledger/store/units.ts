export const HOUR_MS = 3_600_000
export const HOURS_PER_DAY = 24
export const DAY_MS = HOURS_PER_DAY * HOUR_MS

/** Sums of scores are kept in millionths. */
export const SCORE_UNITS = 1_000_000
