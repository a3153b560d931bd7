import { expect } from 'chai'
import type { RunningGateway } from './gateway.ts'
import { splitAnswers } from './raw-http.ts'
import { UNLIMITED } from './settings.ts'

/** Settings with short timeouts for clients that send slowly, and further timeouts. */
export const withShortTimeouts = (more: object = {}) =>
  `${UNLIMITED}timeouts: ${JSON.stringify({ headers_ms: 700, request_ms: 1500, keep_alive_ms: 400, ...more })}\n`

/** The head of a chat completion request whose body has this length. */
export const chatHead = ({ demoKey }: RunningGateway, length: number) =>
  `POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${demoKey}\r\n` +
  `Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`

/** Checks that the first response is 408 and closes the connection. */
export function expectTimeout(text: string): void {
  const [answer] = splitAnswers(text)
  expect(answer?.status).to.equal(408)
  expect(answer?.headers.get('connection')).to.equal('close')
  const { error } = JSON.parse(answer?.body ?? '')
  expect(error).to.include({ type: 'invalid_request_error', http_status: 408 })
}
