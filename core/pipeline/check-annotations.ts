import type { ReplyingExchange, RuleTraceEntry, Warning } from '../contract/index.ts'

/** Traces and warnings that one phase of a plugin may add. */
const MAX_ADDED = 1000

/** Characters of a text of an entry. */
const MAX_TEXT_LENGTH = 20_000

/**
 * Returns a plain copy of a trace entry, which cannot change any more. Throws a `TypeError` that says what is
 * wrong, and shows nothing of the entry.
 */
export function parseTraceEntry(value: unknown): RuleTraceEntry {
  const { kind, rule_id, name, action, outcome, origin, scope, reason, arm } = readFields(value)
  return {
    kind: checkText('kind', kind),
    rule_id: checkId('rule_id', rule_id),
    name: checkText('name', name),
    action: checkText('action', action),
    outcome: checkWord('outcome', outcome, ['applied', 'skipped']),
    ...(origin !== undefined && { origin: parseOrigin(origin) }),
    ...(scope !== undefined && { scope: checkWord('scope', scope, ['response']) }),
    ...(reason !== undefined && { reason: checkText('reason', reason) }),
    ...(arm !== undefined && { arm: checkText('arm', arm) }),
  }
}

function parseOrigin(value: unknown): NonNullable<RuleTraceEntry['origin']> {
  const { type, id, name } = readFields(value)
  return {
    type: checkWord('origin.type', type, ['policy']),
    id: checkId('origin.id', id),
    name: checkText('origin.name', name),
  }
}

/** As `parseTraceEntry`, for a warning. */
export function parseWarning(value: unknown): Warning {
  const { code, message, scope } = readFields(value)
  return {
    code: checkText('code', code),
    message: checkText('message', message),
    ...(scope !== undefined && { scope: checkWord('scope', scope, ['response']) }),
  }
}

/** The fields of an object of a plugin, which may have getters that throw. */
function readFields(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) throw new TypeError('it is not an object')
  return value as Readonly<Record<string, unknown>>
}

function checkText(name: string, value: unknown): string {
  if (typeof value !== 'string') throw new TypeError(`${name} is not a text`)
  if (value.length > MAX_TEXT_LENGTH)
    throw new TypeError(`${name} has more than ${MAX_TEXT_LENGTH} characters`)
  return value
}

function checkId(name: string, value: unknown): number {
  if (!Number.isSafeInteger(value)) throw new TypeError(`${name} is not a whole number`)
  return value as number
}

function checkWord<Word extends string>(name: string, value: unknown, words: readonly Word[]): Word {
  if (!words.includes(value as Word)) throw new TypeError(`${name} is not ${words.join(' or ')}`)
  return value as Word
}

/** Fields that no phase sets, because the gateway relies on them until the request is recorded. */
const FIXED = [
  ...([
    'id',
    'traceId',
    'endpoint',
    'operation',
    'account',
    'client',
    'headers',
    'state',
    'startedAt',
  ] as const),
  ...(['policies', 'rulesPosition', 'received', 'preferences', 'defaulted'] as const),
  ...(['sentDefaults', 'parameterNames', 'warnings', 'trace', 'attempts', 'res'] as const),
] satisfies readonly (keyof ReplyingExchange)[]

/**
 * Notes what an exchange has, and returns a function that checks what a plugin has added since. What it
 * replaced in place of that is put back.
 */
export function watchAnnotations(exchange: ReplyingExchange): () => void {
  const { trace, warnings } = exchange
  const [traceLength, warningsLength] = [trace.length, warnings.length]
  const fixed = FIXED.map((name) => exchange[name])
  return () => {
    const replaced = FIXED.filter((name, index) => exchange[name] !== fixed[index])
    if (replaced.length > 0) {
      for (const name of replaced) Object.assign(exchange, { [name]: fixed[FIXED.indexOf(name)] })
      throw new TypeError(`it replaced ${replaced.map((name) => `exchange.${name}`).join(' and ')}`)
    }
    if (trace.length > traceLength) takeAdded('trace', trace, traceLength, parseTraceEntry)
    if (warnings.length > warningsLength) takeAdded('warnings', warnings, warningsLength, parseWarning)
  }
}

/** Replaces new entries by plain copies. Removes all of them if one is not valid. */
function takeAdded<Entry>(
  title: string,
  list: Entry[],
  start: number,
  parse: (value: unknown) => Entry,
): void {
  const added = list.splice(start)
  if (added.length > MAX_ADDED) throw new TypeError(`it added more than ${MAX_ADDED} entries to ${title}`)
  const parsed = added.map((entry, index) => {
    try {
      return parse(entry)
    } catch (thrown) {
      // What a getter throws could be anything.
      const reason = thrown instanceof TypeError ? thrown.message : 'it cannot be read'
      throw new TypeError(`it added an invalid entry: ${title}[${start + index}]: ${reason}`)
    }
  })
  list.push(...parsed)
}
