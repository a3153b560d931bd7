import { setTimeout as delay } from 'node:timers/promises'
import type { Got } from '../client.ts'
import { InDoubt } from '../expect.ts'

/** A change that a user or an administrator requested. */
interface LedgerEntry {
  /** Undefined if there was no response, or one with a 5xx status, so that the outcome is unknown. */
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
 * response. Throws `InDoubt` for a 5xx status, which may come after the change was made.
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
  if (got.status >= 500) {
    entries.push({ requestId: undefined, events })
    throw new InDoubt(`${got.status}, request ${got.requestId}: ${got.text}`)
  }
  if (got.status < 300 && events.length > 0) entries.push({ requestId: got.requestId, events })
  return got
}

/** The events of the last change, if its outcome is unknown. */
export function doubtful({ entries }: Ledger): readonly string[] {
  const last = entries.at(-1)
  return last !== undefined && last.requestId === undefined ? last.events : []
}

/** How long after its client gave up a busy gateway may still make a change. */
const LATE_MS = 30_000
const POLL_MS = 500

/**
 * Reads the state after a change in doubt. A gateway that is still running may make it later: waits until it
 * shows, and reads once more then, because a state that takes several requests may show half of it.
 */
export async function readAfterDoubt<State>(
  read: () => Promise<State>,
  shows: (state: State) => boolean,
  canBeLate: boolean,
): Promise<State> {
  const deadline = performance.now() + (canBeLate ? LATE_MS : 0)
  for (;;) {
    const state = await read()
    if (shows(state)) return read()
    if (performance.now() >= deadline) return state
    await delay(POLL_MS)
  }
}
