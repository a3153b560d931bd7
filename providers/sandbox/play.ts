import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import type { Script } from './script.ts'

/** Sends a script, at the client's pace. Rejects when the client leaves; no timer is left behind. */
export async function play(script: Script, response: ServerResponse, client: AbortSignal): Promise<void> {
  if (script.ending === 'hang') return
  await wait(script.firstByteDelay, client)
  response.writeHead(script.status, script.headers)
  for (const [index, chunk] of script.chunks.entries()) {
    if (index > 0 && script.chunkDelay > 0) await wait(script.chunkDelay, client)
    if (!response.write(chunk)) await once(response, 'drain', { signal: client })
  }
  if (script.ending === 'end') response.end()
  else cut(response)
}

async function wait(milliseconds: number, client: AbortSignal): Promise<void> {
  if (milliseconds > 0) await setTimeout(milliseconds, undefined, { signal: client })
}

/** Drops the connection in the middle of the answer, once what was written is out. */
function cut(response: ServerResponse): void {
  response.flushHeaders()
  response.socket?.destroySoon()
}
