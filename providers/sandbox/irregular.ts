import { isJsonObject, type JsonObject, type SseEvent } from '../../core/contract/index.ts'

/** Fields that careless providers leave out. */
const OMITTED: ReadonlySet<string> = new Set(['index', 'object', 'created', 'role', 'refusal', 'logprobs'])

/** Fields whose value they change: one id for all calls, and reasons that say nothing of them. */
const CHANGED: Readonly<Record<string, string>> = {
  call_id: 'call_0',
  finish_reason: 'eos',
  stop_reason: 'eos',
  finishReason: 'STOP',
}

/** A stream event as `toIrregularJson`; one that is not JSON, such as `[DONE]`, is kept. */
export function toIrregularEvent(event: SseEvent): SseEvent {
  return event.data.startsWith('{') ? { ...event, data: toIrregularJson(event.data) } : event
}

/** Writes a reply or a record of a stream as careless compatible providers do. */
export function toIrregularJson(json: string): string {
  const record: unknown = JSON.parse(json)
  const irregular = change(record)
  const hasNoType = isJsonObject(record) && record.type === undefined && record.object !== 'response'
  return JSON.stringify(hasNoType ? { ...Object(irregular), error: {} } : irregular)
}

function change(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(change)
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value)
    .filter(([name]) => !OMITTED.has(name))
    .map(([name, field]) => [name, changeField(name, field, value)])
  return Object.fromEntries(entries)
}

function changeField(name: string, field: unknown, owner: JsonObject): unknown {
  if (typeof field === 'number' && /_tokens$|TokenCount$/.test(name)) return String(field)
  if (typeof field !== 'string') return change(field)
  if (name === 'id' && isCall(owner)) return 'call_0'
  // The start of a call in a stream, which the actual arguments follow.
  if (name === 'arguments' && field === '' && owner.name !== undefined) return '{}'
  return CHANGED[name] ?? field
}

function isCall({ type, function: called, args }: JsonObject): boolean {
  return type === 'tool_use' || isJsonObject(called) || args !== undefined
}
