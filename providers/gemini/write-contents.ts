import type { Message } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import type { Family } from './family.ts'
import { ANYWHERE, mergePieces, type Piece } from './pieces.ts'
import { createToolTurns } from './tool-turns.ts'
import type { Content, GenerateBody, TextPart } from './wire.ts'
import { writeParts, writeTexts } from './write-parts.ts'

/**
 * The conversation as turns of `user` and `model`, system messages apart (reference 6.2). Gemma knows no system
 * messages, and a conversation of nothing else is none: there they are what the user says first.
 */
export function writeContents(
  messages: readonly Message[],
  family: Family,
): Pick<GenerateBody, 'contents' | 'systemInstruction'> {
  const system = writeSystem(messages)
  const pieces = writePieces(messages, family)
  if (system.length === 0) return { contents: mergePieces(pieces) }
  if (family !== 'gemma' && pieces.length > 0) {
    return { systemInstruction: { parts: system }, contents: mergePieces(pieces) }
  }
  const first = system.map((part): Piece => ({ role: 'user', part, place: 0 }))
  return { contents: mergePieces([...first, ...pieces]) }
}

function writeSystem(messages: readonly Message[]): readonly TextPart[] {
  return messages.flatMap(({ role, content }, index) =>
    role === 'system' || role === 'developer' ? writeTexts(content, `messages[${index}].content`) : [],
  )
}

function writePieces(messages: readonly Message[], family: Family): readonly Piece[] {
  const { writeCalls, writeResult } = createToolTurns(family)

  function writeMessage(message: Message, index: number): readonly Piece[] {
    const path = `messages[${index}]`
    switch (message.role) {
      case 'system':
      case 'developer':
        return []
      case 'user':
        return say('user', message, path)
      case 'assistant':
        return [...say('model', message, path), ...writeCalls(message, path)]
      case 'tool':
        return [writeResult(message, path)]
      case 'function':
        throw new GatewayError('unsupported_parameter', `${path}: use the role tool in place of function.`, {
          param: `${path}.role`,
        })
      default:
        message.role satisfies never
        return []
    }
  }

  return messages.flatMap(writeMessage)
}

function say(role: Content['role'], { content }: Message, path: string): readonly Piece[] {
  return writeParts(content, `${path}.content`).map((part) => ({ role, part, place: ANYWHERE }))
}
