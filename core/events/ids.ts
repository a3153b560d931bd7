/** Numbers taken for users and rules: `count` of them from `first` on; stream `ids`. */
export type IdEvent = { type: 'IdsReserved'; data: { first: number; count: number } }

export const IDS_STREAM = 'ids'
