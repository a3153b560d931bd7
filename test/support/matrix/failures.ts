import { expect } from 'chai'
import OpenAI from 'openai'
import { asUser, type Case, failing, heard } from './bench.ts'

/** What providers and clients do wrong. */
export const FAILURES = {
  'error before the stream': async (bench) => {
    const limited = await failing(bench, 'Hi [[sandbox:status=429 retry-after=7]]')
    expect(limited.error).to.be.instanceOf(OpenAI.RateLimitError)
    expect(limited.error.headers?.get('retry-after')).to.equal('7')
    const broken = await failing(bench, 'Hi [[sandbox:status=500]]')
    expect(broken).to.deep.include({ text: undefined })
    expect(broken.error).to.include({ status: 502, code: 'provider_error' })
    const unwanted = await failing(bench, 'Hi [[sandbox:status=400]]')
    expect(unwanted.error).to.include({ status: 400 })
    expect(unwanted.error.message).to.contain(`${bench.provider} rejected the request`)
    return 'yes'
  },

  'error as first event': async (bench) => {
    const { text, error } = await failing(bench, 'Hi [[sandbox:error-first]]')
    expect(text).to.equal(undefined)
    expect(error).to.include({ status: 502, code: 'provider_error' })
    return 'yes'
  },

  'error in mid-stream': async (bench) => {
    const { text, error } = await failing(bench, 'Hi [[sandbox:error-mid=5 token-delay=10]]')
    expect(text).to.not.be.oneOf([undefined, ''])
    expect(error).to.include({ code: 'provider_error' })
    return 'yes'
  },

  'cut stream': async (bench) => {
    for (const [fault, code] of [
      ['cut=5', 'provider_unreachable'],
      ['eof=5', 'provider_error'],
    ]) {
      const { text, error } = await failing(bench, `Hi [[sandbox:${fault} token-delay=10]]`)
      expect(text).to.not.be.oneOf([undefined, ''])
      expect(error).to.include({ code })
    }
    return 'yes'
  },

  'client leaves': async (bench) => {
    const { client, model, provider } = bench
    for (const stream of [true, false]) {
      const text = `${provider} ${stream ? 'streams' : 'waits'}`
      const fault = stream ? 'token-delay=600000' : 'hang'
      const request = heard(bench, text)
      const leave = new AbortController()
      const call = client.chat.completions.create(
        { ...asUser(`${text} [[sandbox:${fault}]]`), model, stream },
        { signal: leave.signal },
      )
      const { closed } = await request
      if (stream) await call
      leave.abort()
      if (!stream)
        await call.then(
          () => expect.fail('the call succeeded'),
          () => {},
        )
      expect(await closed).to.equal('aborted')
    }
    return 'yes'
  },
} satisfies Readonly<Record<string, Case>>
