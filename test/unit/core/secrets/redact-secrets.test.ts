import { inspect } from 'node:util'
import { expect } from 'chai'
import { GatewayError } from '../../../../core/contract/errors.ts'
import { createSecretRedactor } from '../../../../core/secrets/redact-secrets.ts'

const KEY = 'w4lrus"\\/+%tr4in'
const { text, json, error } = createSecretRedactor([KEY, undefined, '', 'token'])

describe('a redactor of secrets', () => {
  const forms: Readonly<Record<string, string>> = {
    'as it is': KEY,
    'in JSON': JSON.stringify(KEY).slice(1, -1),
    'in a URL': encodeURIComponent(KEY),
    'in base64': Buffer.from(KEY).toString('base64'),
    'behind a user': Buffer.from(`user:${KEY}`).toString('base64'),
    'behind another user': Buffer.from(`us:${KEY}`).toString('base64url'),
  }
  for (const [form, written] of Object.entries(forms))
    it(`finds a secret ${form}`, () => {
      const redacted = text(`a ${written} b`)
      expect(redacted).to.match(/^a \S{0,8}\[redacted\]\S{0,4} b$/)
      expect(redacted).not.to.contain(written.slice(8, -6))
    })

  it('finds a secret that the end of the text cuts off', () => {
    expect(text(`Wrong key ${KEY.slice(0, -3)}`)).to.equal('Wrong key [redacted]')
  })

  it('finds an encoded secret that the end of the text cuts off', () => {
    const encoded = Buffer.from(`user:${KEY}`).toString('base64')
    const cut = encoded.slice(0, -6)
    expect(text(`Wrong key ${cut}`)).to.match(/^Wrong key \S{0,7}\[redacted\]$/)
    expect(text(`${KEY.slice(0, 8)}! ${KEY.slice(0, 8)}`)).to.match(/! \[redacted\]$/)
  })

  it('finds short secrets that are no words', () => {
    const short = createSecretRedactor(['x9Qz1', 'a+b(c', '«é»«é»', 'gpt-4', '12345'])
    expect(short.text('Key x9Qz1, a+b(c and «é»«é» are wrong')).to.equal(
      'Key [redacted], [redacted] and [redacted] are wrong',
    )
    expect(short.text('gpt-4 has 12345 tokens')).to.equal('gpt-4 has 12345 tokens')
  })

  it('replaces the longer of two secrets', () => {
    expect(createSecretRedactor(['passw0rd', 'passw0rd-2']).text('(passw0rd-2)')).to.equal('([redacted])')
  })

  const words: Readonly<Record<string, string>> = {
    'too many tokens, max_token, a token limit': 'too many tokens, max_token, a token limit',
    'Error: token limit exceeded': 'Error: token limit exceeded',
    token: '[redacted]',
    'key: token': 'key: [redacted]',
    'in ?api_key=token&x=1': 'in ?api_key=[redacted]&x=1',
    "the value 'token', which": "the value '[redacted]', which",
    'The key token is wrong': 'The key [redacted] is wrong',
  }
  for (const [said, shown] of Object.entries(words))
    it(`knows where a word is a value: ${said}`, () => expect(text(said)).to.equal(shown))

  it('keeps the syntax of JSON', () => {
    const body = JSON.stringify({ token: 1, error: { message: `No ${KEY}`, list: [KEY] } })
    expect(JSON.parse(json(body))).to.deep.equal({
      token: 1,
      error: { message: 'No [redacted]', list: ['[redacted]'] },
    })
    expect(json('{"token": 1.0}')).to.equal('{"token": 1.0}')
    expect(json(`<p>${KEY}`)).to.equal('<p>[redacted]')
  })

  it('cleans every field of an error', () => {
    const cause = Object.assign(new Error(`HTTP 401 ${KEY}`), { request: { key: KEY } })
    const given = new GatewayError('provider_refused', `No ${KEY}`, {
      ...{ cause, param: KEY, wireCode: `x_${KEY}`, headers: { 'x-id': KEY }, meta: { deep: [{ KEY }] } },
    })
    const cleaned = error(given) as GatewayError
    expect(cleaned).to.be.instanceOf(GatewayError).and.include({ code: 'provider_refused', status: 400 })
    expect(cleaned.message).to.equal('No [redacted]')
    expect(cleaned.details.headers).to.deep.equal({ 'x-id': '[redacted]' })
    expect(inspect(cleaned, { depth: 9, showHidden: true })).not.to.contain('w4lrus')
  })

  it('drops the fields of an error that may hold a request', () => {
    const given = Object.assign(new TypeError('Not here'), { request: { key: KEY } })
    const cleaned = error(given) as Error
    expect(inspect(cleaned, { depth: 9, showHidden: true })).not.to.contain('w4lrus')
    expect(cleaned).to.include({ name: 'TypeError', message: 'Not here' })
  })

  it('drops errors within an error, and what is nested too deeply to be inspected', () => {
    const several = new AggregateError([new Error(`No ${KEY}`)], 'Several')
    expect(inspect(error(several), { depth: 9, showHidden: true })).not.to.contain('w4lrus')
    let nested: object = { KEY }
    for (let depth = 0; depth < 12; depth++) nested = { nested }
    expect(json(JSON.stringify(nested)))
      .to.contain('[redacted]')
      .and.not.to.contain('w4lrus')
  })

  it('returns the same error if it holds no secret', () => {
    for (const given of [new GatewayError('provider_error', 'Failed.'), new TypeError('x'), undefined])
      expect(error(given)).to.equal(given)
  })
})
