/**
 * A pattern is invalid or not supported. Users see the message as the `pattern_error` of their rule: a
 * sentence without a final period.
 */
export class PatternError extends Error {}
