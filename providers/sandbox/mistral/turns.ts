import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import { Refusal } from '../refusal.ts'

/** Throws a `Refusal` (400) for a conversation that the model cannot go on from; the codes are Mistral's. */
export function checkTurns({ messages, temperature }: JsonObject): void {
  const turns = Array.isArray(messages) ? messages.filter(isJsonObject) : []
  for (const id of turns.flatMap(findCallIds)) checkCallId(id)
  const last = turns.at(-1)
  if (last?.role === 'system' || (last?.role === 'assistant' && last.prefix !== true)) {
    const expected = 'Expected last role User or Tool (or Assistant with prefix True) for serving'
    throw new Refusal(400, `${expected} but got ${last.role}`, { code: '3230' })
  }
  if (typeof temperature === 'number' && temperature > 1) {
    throw new Refusal(400, 'Temperature must be between 0 and 1', { code: '3051' })
  }
}

function findCallIds({ tool_calls: calls, tool_call_id: id }: JsonObject): readonly unknown[] {
  const called = Array.isArray(calls) ? calls.filter(isJsonObject).map((call) => call.id) : []
  return id === undefined ? called : [...called, id]
}

function checkCallId(id: unknown): void {
  if (typeof id === 'string' && /^[a-zA-Z0-9]{9}$/.test(id)) return
  const wanted = 'must be a-z, A-Z, 0-9, with a length of 9.'
  throw new Refusal(400, `Tool call id was ${String(id)} but ${wanted}`, { code: '3280' })
}
