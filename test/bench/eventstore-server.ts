/**
 * The test server as a process of the benchmark. Prints its connection string. `fill N` on stdin adds N
 * events of another program, and is answered with a line.
 */
import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import { startEventStore } from '../support/eventstore/server.ts'

const server = await startEventStore()
process.stdout.write(`${server.connectionString}\n`)

const EVENTS_PER_STREAM = 500

function fill(count: number): void {
  for (let written = 0; written < count; written += EVENTS_PER_STREAM) {
    const events = Array.from({ length: EVENTS_PER_STREAM }, () => ({
      id: randomUUID(),
      type: 'ResponseCompleted',
      contentType: 'application/json',
      data: Buffer.from('{}'),
      metadata: Buffer.from('{}'),
    }))
    server.store.append(`response-filler-${randomUUID()}`, 'no-stream', events)
  }
}

for await (const line of createInterface(process.stdin)) {
  const [command, number] = line.split(' ')
  if (command === 'fill') fill(Number(number))
  process.stdout.write('done\n')
}
process.exit()
