/**
 * Imitates five providers at minimal cost: it sends prepared bytes, chosen by the first path segment. A
 * stream is sent at once; one record every two milliseconds if the prompt has the pace marker; in packets of
 * 32 records of OpenAI's present form if it has the burst marker.
 */
import { createServer, type Socket } from 'node:net'
import { buildBurst } from './burst.ts'
import { MessageReader } from './message-reader.ts'
import { BURST_MARKER, PACE_MARKER, PACE_MS } from './prompts.ts'
import { type Answers, recordAnswers } from './recorded-answers.ts'

const answers = await recordAnswers()
const atOnce = new Map([...answers].map(([provider, { stream }]) => [provider, Buffer.concat(stream)]))
const burst = buildBurst()

const server = createServer({ noDelay: true }, (socket) => {
  const reader = new MessageReader()
  let streams = false
  let isPaced = false
  let isBurst = false
  socket.on('data', (bytes) => {
    const isOver = reader.take(bytes, (body) => {
      streams ||= body.includes('"stream":true')
      isPaced ||= body.includes(PACE_MARKER)
      isBurst ||= body.includes(BURST_MARKER)
    })
    if (!isOver) return
    if (isBurst) writePackets(socket, 0)
    else answer(socket, reader.head, streams, isPaced)
    reader.reset()
    streams = false
    isPaced = false
    isBurst = false
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

/** Sends the head and the first record, then one record per tick. Late ticks are caught up with. */
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

/** Sends one packet per turn of the event loop. */
function writePackets(socket: Socket, next: number): void {
  const packet = burst[next]
  if (packet === undefined || socket.destroyed) return
  socket.write(packet)
  setImmediate(writePackets, socket, next + 1)
}
