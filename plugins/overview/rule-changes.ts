import type { LogEntry, LogReader } from '../audit/index.ts'

const MAX_CHANGES = 200

/** Parts of a thousand events that are searched at most: a week with more changes shows the newest. */
const MAX_PARTS = 20

const TITLES: Readonly<Record<string, string>> = {
  routing: 'Routing rule',
  firewall: 'Firewall rule',
  tool: 'Tool rule',
  policy: 'Policy',
  group: 'Group',
}

/** Returns the newest changes of rules, policies and groups between two times (Unix milliseconds). */
export async function findRuleChanges(
  reader: Pick<LogReader, 'backwards'>,
  { since, until }: { readonly since: number; readonly until: number },
  isShown: (entry: LogEntry) => boolean,
) {
  const found: LogEntry[] = []
  const isInRange = (entry: LogEntry) => timeOf(entry) >= since && timeOf(entry) < until
  let parts = 0
  for await (const part of reader.backwards(Number.MAX_SAFE_INTEGER)) {
    for (const entry of part)
      if (entry.kind in TITLES && isInRange(entry) && found.length < MAX_CHANGES && isShown(entry))
        found.push(entry)
    parts += 1
    const oldest = part.at(-1)
    if (found.length >= MAX_CHANGES || parts >= MAX_PARTS || (oldest && timeOf(oldest) < since)) break
  }
  return found.map(showChange)
}

function timeOf({ record }: LogEntry): number {
  return Date.parse(record.metadata.time)
}

function showChange({ record, kind, id, event, noEffect }: LogEntry) {
  const { position, metadata } = record
  const name = nameIn(record.data)
  const change = noEffect === undefined ? event : `${event}, without effect`
  return {
    time: metadata.time,
    position,
    actor: metadata.actor,
    summary: `${TITLES[kind]} ${id}${name === undefined ? '' : ` "${name}"`} ${change}`,
    ...(metadata.reason !== undefined && { reason: metadata.reason }),
  }
}

/** The name that a change sets; changes of other fields do not have it. */
function nameIn(data: LogEntry['record']['data']): string | undefined {
  for (const part of [data, data.content, data.changes])
    if (typeof part === 'object' && part !== null && 'name' in part && typeof part.name === 'string')
      return part.name
  return undefined
}
