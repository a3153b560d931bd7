import { expect } from 'chai'
import type { ErrorCode } from '../../../core/contract/error-codes.ts'
import { ADAPTERS } from '../../../providers/adapters.ts'
import { readVectors } from '../../support/vectors.ts'

interface ErrorCase {
  readonly provider: string
  readonly status: number
  readonly body: object
  readonly code: ErrorCode
}

function parseError(provider: string, status: number, body: string) {
  const adapter = ADAPTERS.find(({ format }) => format === provider)
  return adapter!.parseError!({ provider, status, headers: {}, body })
}

describe('the built-in adapters', () => {
  it('authenticate as their providers require', () => {
    const headers = ADAPTERS.map(({ format, buildAuthHeaders }) => [format, buildAuthHeaders('sk-key')])
    expect(Object.fromEntries(headers)).to.deep.equal({
      openai: { authorization: 'Bearer sk-key' },
      anthropic: { 'x-api-key': 'sk-key' },
      gemini: { 'x-goog-api-key': 'sk-key' },
      mistral: { authorization: 'Bearer sk-key' },
      deepseek: { authorization: 'Bearer sk-key' },
      vertex: { 'x-goog-api-key': 'sk-key' },
      bedrock: { authorization: 'Bearer sk-key' },
    })
  })

  for (const { provider, status, body, code } of readVectors<readonly ErrorCase[]>('provider-errors')) {
    const text = JSON.stringify(body)
    it(`map ${status} ${text} of ${provider} to ${code}`, () => {
      expect(parseError(provider, status, text).code).to.equal(code)
    })
  }

  const bodies = [
    '',
    '<html>Bad gateway</html>',
    'Not Found',
    '[]',
    'null',
    '42',
    '{"error":null}',
    '{"error":',
  ]
  for (const [format, body] of ADAPTERS.flatMap(({ format }) =>
    bodies.map((body) => [format, body] as const),
  ))
    it(`accept the body ${JSON.stringify(body)} of an error of ${format}`, () => {
      const { code, message } = parseError(format, 500, body)
      expect([code, message]).to.deep.equal(['provider_error', `${format} returned a server error.`])
      const refused = parseError(format, 400, body).message
      expect(refused).to.equal(`${format} rejected the request: HTTP status 400`)
    })
})
