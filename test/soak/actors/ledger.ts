import type { Got } from '../client.ts'

/** A change that a user or an administrator asked for. */
interface LedgerEntry {
  /** Undefined where no answer came, so that nobody knows whether it was made. */
  readonly requestId: string | undefined
  /** The events that it leads to, in order, as the audit names them: `routing created`. */
  readonly events: readonly string[]
}

/** Everything that was asked for about one user, in order. */
export interface Ledger {
  readonly who: string
  /** With which the user's audit and rules can be read. */
  readonly key: string
  readonly entries: LedgerEntry[]
}

/**
 * Asks for a change that leads to these events, and notes it: as acknowledged, or, where no answer comes, as
 * in doubt.
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

/** The events of the last change, when nobody knows whether it was made. */
export function doubtful({ entries }: Ledger): readonly string[] {
  const last = entries.at(-1)
  return last !== undefined && last.requestId === undefined ? last.events : []
}
