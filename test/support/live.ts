import { expect } from 'chai'
import { AS_ADMIN, type RunningGateway } from './gateway.ts'

/** Opens `GET /admin/live`; `next` resolves with its next record, or an empty text at its end. */
export async function watchLive(
  gateway: RunningGateway,
  query = '',
  headers: Readonly<Record<string, string>> = AS_ADMIN,
) {
  const leave = new AbortController()
  const { signal } = leave
  const answer = await fetch(`${gateway.url}/admin/live${query}`, { headers, signal })
  expect(answer.headers.get('content-type')).to.contain('text/event-stream')
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  async function next(): Promise<string> {
    while (!text.includes('\n\n')) {
      const { value, done } = await reader.read()
      if (done) return ''
      text += value
    }
    const [record = ''] = text.split('\n\n')
    text = text.slice(record.length + 2)
    return record
  }
  expect(await next()).to.equal(': watching')
  return { next, leave: () => leave.abort() }
}

/** The record of a request in an event of the stream. */
export const recordIn = (text: string) => JSON.parse(text.replace('event: request\ndata: ', ''))
