import { ReplyEvent, type ReplyPart } from '../../core/contract/chat.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { NATIVE } from '../../core/contract/native-records.ts'
import { asObjects } from './fields.ts'
import type { RunReader } from './text-run.ts'

/** The caller's names of tools by those that were sent. */
type Renamed = ReadonlyMap<unknown, string>

/** Wraps a reader so that calls have the names that the caller gave to its tools. */
export function restoreNamesIn(reader: RunReader, renamed: Renamed): RunReader {
  const restore = (event: ReplyEvent) => restoreNames(event, renamed)
  return {
    isDone: () => reader.isDone?.() === true,
    read: (event) => reader.read(event).map(restore),
    ...(reader.readRun && { readRun: (body, start, isAscii) => reader.readRun?.(body, start, isAscii) }),
    end: () => reader.end().map(restore),
  }
}

/** Gives the calls of an event the names that the caller gave to its tools, in native records as well. */
export function restoreNames(event: ReplyEvent, renamed: Renamed): ReplyEvent {
  const native = event[NATIVE]
  // A record with a pattern holds nothing but text.
  if (native?.pattern !== undefined) return event
  const record = native && restoreRecord(native.record, renamed)
  const isStart = (part: ReplyPart) => part.type === 'tool-start' && renamed.has(part.name)
  if (record === native?.record && !event.parts.some(isStart)) return event
  const parts = event.parts.map((part) =>
    part.type === 'tool-start' ? { ...part, name: renamed.get(part.name) ?? part.name } : part,
  )
  return new ReplyEvent(parts, record && { record })
}

/** Returns the same record if it holds no name that was replaced. */
function restoreRecord(record: JsonObject, renamed: Renamed): JsonObject {
  const choices = asObjects(record.choices)
  const restored = choices.map((choice) =>
    restoreIn(restoreIn(choice, 'message', restoreMessage), 'delta', restoreMessage),
  )
  return restored.every((choice, index) => choice === choices[index])
    ? record
    : { ...record, choices: restored }

  function restoreMessage(message: JsonObject): JsonObject {
    const calls = asObjects(message.tool_calls)
    const restoredCalls = calls.map((call) =>
      restoreIn(restoreIn(call, 'function', restoreName), 'custom', restoreName),
    )
    return restoredCalls.every((call, index) => call === calls[index])
      ? message
      : { ...message, tool_calls: restoredCalls }
  }

  function restoreName(called: JsonObject): JsonObject {
    const name = renamed.get(called.name)
    return name === undefined ? called : { ...called, name }
  }
}

/** Converts an object in a field. Returns the same value if nothing changes. */
function restoreIn(value: JsonObject, field: string, restore: (inner: JsonObject) => JsonObject): JsonObject {
  const inner = value[field]
  if (!isJsonObject(inner)) return value
  const restored = restore(inner)
  return restored === inner ? value : { ...value, [field]: restored }
}
