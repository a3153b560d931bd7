import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

interface OtlpSpan {
  readonly traceId: string
  readonly spanId: string
  readonly name: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly { key: string; value: { stringValue: string } }[]
}

/**
 * Starts a server that takes spans as Langfuse does. A text is answered as HTML. Names of attributes are
 * shown without the prefix.
 */
export async function startLangfuse(answer: object | string = {}) {
  const heads: { url: string | undefined; authorization: string | undefined }[] = []
  const spans: ReturnType<typeof toShown>[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request.setEncoding('utf8')) body += piece
    heads.push({ url: request.url, authorization: request.headers.authorization })
    for (const { scopeSpans } of JSON.parse(body).resourceSpans)
      for (const scope of scopeSpans) spans.push(...scope.spans.map(toShown))
    const isHtml = typeof answer === 'string'
    response.writeHead(200, { 'content-type': isHtml ? 'text/html' : 'application/json' })
    response.end(isHtml ? answer : JSON.stringify(answer))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, heads, spans, close: () => server.close() }
}

function toShown({ traceId, spanId, name, startTimeUnixNano, endTimeUnixNano, attributes }: OtlpSpan) {
  const entries = attributes.map(({ key, value }): [string, string] => [
    key.replace('langfuse.observation.', ''),
    value.stringValue,
  ])
  const toMs = (nanos: string) => Number(BigInt(nanos) / 1_000_000n)
  return {
    ...{ traceId, spanId, name, start: toMs(startTimeUnixNano), end: toMs(endTimeUnixNano) },
    attributes: Object.fromEntries<string>(entries),
  }
}
