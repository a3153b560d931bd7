/**
 * Whether a list of stream names contains a stream. An entry that ends in `-` is a category and matches every
 * stream whose name begins with it.
 */
export function matchesStream(names: readonly string[], stream: string): boolean {
  return names.some((name) => (name.endsWith('-') ? stream.startsWith(name) : stream === name))
}

/** Throws if an append to an expiring stream has no `maxAge`, or an append to any other stream has one. */
export function checkMaxAge(stream: string, maxAge: number | undefined, isExpiring: boolean): void {
  if (isExpiring && maxAge === undefined) throw new Error(`stream ${stream} expires: maxAge is required`)
  if (!isExpiring && maxAge !== undefined) throw new Error(`stream ${stream} does not expire: omit maxAge`)
}

/** Throws unless the stream expires: the events of all other streams are permanent. */
export function checkDeletable(stream: string, isExpiring: boolean): void {
  if (!isExpiring) throw new Error(`stream ${stream} does not expire and cannot be deleted`)
}
