import { anthropic } from './anthropic/format.ts'
import { deepseek } from './deepseek/format.ts'
import { withoutMarkers } from './faults.ts'
import { type Format, Refusal } from './format.ts'
import { gemini } from './gemini/format.ts'
import { mistral } from './mistral/format.ts'
import { answerQuestion, refuseQuestion } from './model-reply.ts'
import { BODY_LIMIT, type Stamp } from './model-request.ts'
import { openai } from './openai/format.ts'
import type { Received } from './recorder.ts'
import { type PickFault, type Script, writeJson, writeRefusal, writeReply } from './response-script.ts'

const FORMATS: readonly Format[] = [openai, anthropic, mistral, deepseek, gemini]

/** Decides how a request is answered; what goes wrong is told in the provider's error shape. */
export function respond(received: Received, stamp: Stamp, pickFault: PickFault): Script {
  // Paths of no format are OpenAI's, which then refuses them.
  const format = FORMATS.find(({ name }) => received.path.startsWith(`/${name}/`)) ?? openai
  try {
    return answer(format, received, stamp, pickFault)
  } catch (error) {
    return writeRefusal(format, readRefusal(error))
  }
}

function answer(format: Format, received: Received, stamp: Stamp, pickFault: PickFault): Script {
  const path = received.path.slice(format.name.length + 1)
  const endpoint = format.findEndpoint(received.method, path)
  if (!endpoint) {
    throw new Refusal(404, `Invalid URL (${received.method} ${received.path})`, { code: 'unknown_url' })
  }
  checkKey(format.readKey(received.headers))
  checkSize(received.size)
  if (endpoint === 'models') return writeJson(200, format.writeModels())

  const call = format.readCall(path, received.body, received.headers)
  const { question } = call
  const fault = pickFault(question.userText, question.model)
  const said = { ...question, userText: withoutMarkers(question.userText) }
  const reply = fault.refuses ? refuseQuestion(said, stamp) : answerQuestion(said, stamp)
  return writeReply(format, call, reply, fault)
}

function checkKey(key: string): void {
  if (key !== '' && key !== 'invalid') return
  throw new Refusal(
    401,
    `${key === '' ? 'No' : 'A wrong'} API key was sent. The sandbox takes any but "invalid".`,
  )
}

function checkSize(size: number): void {
  if (size > BODY_LIMIT) throw new Refusal(413, `The body is larger than ${BODY_LIMIT} bytes.`)
}

function readRefusal(error: unknown): Refusal {
  return error instanceof Refusal ? error : new Refusal(500, `The sandbox failed: ${String(error)}`)
}
