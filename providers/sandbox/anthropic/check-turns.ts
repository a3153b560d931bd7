import { Refusal } from '../refusal.ts'
import type { Message } from './messages.ts'

/** Throws a `Refusal` (400) unless every tool call is answered once, at the start of the very next message. */
export function checkTurns(messages: readonly Message[]): void {
  for (const [index, message] of messages.entries()) {
    const calls = messages[index - 1]?.calls ?? []
    const path = `messages.${index}`
    if (message.hasLateResult) throw new Refusal(400, `${path}: tool_result blocks must come first`)
    const stray = message.answers.find((id) => !calls.includes(id))
    if (stray !== undefined) {
      throw new Refusal(400, `${path}: unexpected tool_use_id found in tool_result blocks: ${stray}`)
    }
    checkAnswers(calls, message.answers, path)
  }
  checkAnswers(messages.at(-1)?.calls ?? [], [], 'messages')
}

function checkAnswers(calls: readonly string[], answers: readonly string[], path: string): void {
  const open = calls.find((call) => answers.filter((answer) => answer === call).length !== 1)
  if (open === undefined) return
  throw new Refusal(400, `${path}: each tool_use must have a single tool_result right after it: ${open}`)
}
