/**
 * Five providers that cost next to nothing: bytes prepared in advance, by the path's first segment. A stream
 * comes at once, or one record every two milliseconds for a prompt that has the pace marker.
 */
import { createServer, type Socket } from 'node:net'
import { MessageReader } from './message-reader.ts'
import { PACE_MARKER, PACE_MS } from './prompts.ts'
import { type Answers, recordAnswers } from './recorded-answers.ts'

const answers = await recordAnswers()
const atOnce = new Map([...answers].map(([provider, { stream }]) => [provider, Buffer.concat(stream)]))

const server = createServer({ noDelay: true }, (socket) => {
  const reader = new MessageReader()
  let streams = false
  let isPaced = false
  socket.on('data', (bytes) => {
    const isOver = reader.take(bytes, (body) => {
      streams ||= body.includes('"stream":true')
      isPaced ||= body.includes(PACE_MARKER)
    })
    if (!isOver) return
    answer(socket, reader.head, streams, isPaced)
    reader.reset()
    streams = false
    isPaced = false
  })
  socket.on('error', () => {})
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}\n`)
})

function answer(socket: Socket, head: string, streams: boolean, isPaced: boolean): void {
  const provider = head.slice('POST /'.length, head.indexOf('/', 'POST /'.length))
  const recorded = answers.get(provider)
  const all = atOnce.get(provider)
  if (recorded === undefined || all === undefined) {
    socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n')
  } else if (!streams && !head.includes(':streamGenerateContent')) socket.write(recorded.whole)
  else if (isPaced) writeSlowly(socket, recorded)
  else socket.write(all)
}

/** Head and first record at once, then one record a tick, by the clock: late ticks are made up for. */
function writeSlowly(socket: Socket, { stream }: Answers): void {
  const [head = '', first = '', ...rest] = stream
  socket.write(Buffer.concat([Buffer.from(head), Buffer.from(first)]))
  const begun = performance.now()
  let next = 0
  const timer = setInterval(() => {
    const due = Math.min(rest.length, Math.floor((performance.now() - begun) / PACE_MS))
    for (; next < due; next++) socket.write(rest[next] ?? '')
    if (next === rest.length || socket.destroyed) clearInterval(timer)
  }, PACE_MS)
}
