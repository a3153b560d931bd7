import type { Got } from './client.ts'

/** A response or state differs from what is expected. */
export class Unexpected extends Error {}

/** A change failed in a way that does not tell whether it was made. */
export class InDoubt extends Unexpected {}

/** Throws `Unexpected` with the text unless the condition holds. */
export function must(holds: boolean, what: () => string): asserts holds {
  if (!holds) throw new Unexpected(what())
}

export function mustEqual(actual: unknown, expected: unknown, what: string): void {
  must(actual === expected, () => `${what} is ${shorten(actual)}, expected ${shorten(expected)}`)
}

/** Compares values by their JSON. */
export function mustMatch(actual: unknown, expected: unknown, what: string): void {
  mustEqual(JSON.stringify(actual), JSON.stringify(expected), what)
}

export function mustBe(got: Got, ...statuses: readonly number[]): void {
  must(
    statuses.includes(got.status),
    () => `${got.status} (expected ${statuses}), request ${got.requestId}: ${shorten(got.text)}`,
  )
}

const SHOWN = 400

function shorten(value: unknown): string {
  const text = typeof value === 'string' ? value : String(JSON.stringify(value))
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN)}… (${text.length} characters)`
}
