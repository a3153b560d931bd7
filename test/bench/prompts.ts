/** Marks a prompt for which the upstream sends its stream one record at a time. */
export const PACE_MARKER = '[[paced]]'
export const PACE_MS = 2

/** Marks a prompt for which the upstream sends OpenAI's stream in packets of many records. */
export const BURST_MARKER = '[[burst]]'

const LOREM = 'Lorem ipsum dolor sit amet, consectetur. '

/** Returns a text of the given number of bytes that the ten matching rules match. */
export function writePrompt(bytes: number, start = ''): string {
  return start + LOREM.repeat(Math.ceil(bytes / LOREM.length)).slice(0, bytes)
}
