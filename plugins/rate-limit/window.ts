/** Limits are per minute. */
export const WINDOW_SECONDS = 60
