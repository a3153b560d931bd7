/** Streams that are gone after a while; everything else in the log is kept for ever. */
const EXPIRING_CATEGORY = 'response-'

export function isExpiring(stream: string): boolean {
  return stream.startsWith(EXPIRING_CATEGORY)
}

/** Throws when an expiring stream is to be kept for ever, or another is not. */
export function checkMaxAge(stream: string, maxAge: number | undefined): void {
  if (isExpiring(stream) === (maxAge !== undefined)) return
  throw new Error(
    isExpiring(stream)
      ? `an append to ${stream} needs a maxAge`
      : `${stream} is kept for ever: leave maxAge out`,
  )
}
