/** Why a pattern cannot be run, worded to follow "The pattern counts as no match: ". */
export class PatternError extends Error {}
