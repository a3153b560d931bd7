import type { Ledger } from '../actors/ledger.ts'
import type { HttpClient, Loose } from '../client.ts'
import { mustBe } from '../expect.ts'
import { type Check, fewOf } from './check.ts'

/** Returns all audit entries of a user, oldest first. */
export async function readAudit(client: HttpClient, key: string): Promise<readonly Loose[]> {
  const pages: Loose[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const got = await client.ask({ path: `/v1/audit?limit=500${cursor && `&cursor=${cursor}`}`, key })
    mustBe(got, 200)
    pages.push(...got.body.data)
    cursor = got.body.next_cursor
  }
  return pages.reverse()
}

/** The audit contains every acknowledged change in order, and otherwise only unanswered ones. */
export async function checkAudits(client: HttpClient, ledgers: readonly Ledger[]): Promise<Check> {
  const faults: string[] = []
  let count = 0
  let doubts = 0
  for (const ledger of ledgers) {
    const audit = await readAudit(client, ledger.key)
    // The events that created the user and the first key precede the ledger.
    const events = audit.slice(2).map(({ request_id, kind, event }) => `${request_id} ${kind} ${event}`)
    const { missing, surplus } = compare(ledger, events)
    count += events.length
    doubts += ledger.entries.filter(({ requestId }) => requestId === undefined).length
    faults.push(...missing.map((event) => `${ledger.who}: not in the audit, or not in its place: ${event}`))
    faults.push(...surplus.map((event) => `${ledger.who}: in the audit, and nobody asked for it: ${event}`))
  }
  const doubt = doubts > 0 ? `, ${doubts} changes had no answer` : ''
  return {
    name: 'every acknowledged change is in the audit, in order',
    found: `${count} events${doubt}`,
    faults: fewOf(faults),
  }
}

function compare({ entries }: Ledger, events: readonly string[]) {
  const missing: string[] = []
  const surplus: string[] = []
  let at = 0
  for (const { requestId, events: expected } of entries) {
    if (requestId === undefined) {
      // If the change was made, all of its events are here.
      const here = events.slice(at, at + expected.length).map((event) => event.slice(event.indexOf(' ') + 1))
      const known = entries.some(
        (entry) => entry.requestId !== undefined && events[at]?.startsWith(`${entry.requestId} `),
      )
      if (!known && here.join() === expected.join()) at += expected.length
      continue
    }
    for (const event of expected.map((name) => `${requestId} ${name}`)) {
      const found = events.indexOf(event, at)
      if (found === -1) missing.push(event)
      else {
        surplus.push(...events.slice(at, found))
        at = found + 1
      }
    }
  }
  return { missing, surplus: [...surplus, ...events.slice(at)] }
}
