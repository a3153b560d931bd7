/** A vendor that costs next to nothing: canned answers in OpenAI's format, whole or as a stream of 100 chunks. */
import { createServer } from 'node:http'

const frame = { id: 'chatcmpl-bench', created: 1, model: 'gpt-4o' }
const text = 'Hello there, how can I help you today?'
const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 }

const whole = Buffer.from(
  JSON.stringify({
    ...frame,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: text, refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage,
  }),
)

const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ ...frame, object: 'chat.completion.chunk', choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }], usage: null })}\n\n`

const chunks = [
  chunk({ role: 'assistant', content: '' }),
  ...Array.from({ length: 97 }, (_, n) => chunk({ content: ` word${n}` })),
  chunk({}, 'stop'),
  `data: ${JSON.stringify({ ...frame, object: 'chat.completion.chunk', choices: [], usage })}\n\n`,
].map((record) => Buffer.from(record))
const done = Buffer.from('data: [DONE]\n\n')

const server = createServer((request, response) => {
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('end', () => {
    if (!Buffer.concat(pieces).includes('"stream":true')) {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': whole.length })
      response.end(whole)
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const record of chunks) response.write(record)
    response.end(done)
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}\n`)
})
