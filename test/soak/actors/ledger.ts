import type { Got } from '../client.ts'

/** A change that a user or an administrator requested. */
interface LedgerEntry {
  /** Undefined if there was no response, so that the outcome is unknown. */
  readonly requestId: string | undefined
  /** The resulting events in order, with the names of the audit, such as `routing created`. */
  readonly events: readonly string[]
}

/** All requested changes of one user, in order. */
export interface Ledger {
  readonly who: string
  /** A key that can read the user's audit and rules. */
  readonly key: string
  readonly entries: LedgerEntry[]
}

/**
 * Requests a change that leads to these events, and records it as acknowledged, or as in doubt if there is no
 * response.
 */
export async function noteChange(
  { entries }: Ledger,
  events: readonly string[],
  send: () => Promise<Got>,
): Promise<Got> {
  let got: Got
  try {
    got = await send()
  } catch (error) {
    entries.push({ requestId: undefined, events })
    throw error
  }
  if (got.status < 300 && events.length > 0) entries.push({ requestId: got.requestId, events })
  return got
}

/** The events of the last change, if its outcome is unknown. */
export function doubtful({ entries }: Ledger): readonly string[] {
  const last = entries.at(-1)
  return last !== undefined && last.requestId === undefined ? last.events : []
}
