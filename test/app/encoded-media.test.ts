import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { providersAt } from '../support/providers.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

const TEXT = Buffer.from('the secret word').toString('base64')
const TINY_PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
const TINY_GIF = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'
const TINY_WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA='

const user = (...content: object[]) => [{ role: 'user', content }]

/** Requests with an image, and with a text file, by URL. */
const DIALECTS = {
  'chat completions': {
    path: '/v1/chat/completions',
    image: (url: string) => ({ messages: user({ type: 'image_url', image_url: { url } }) }),
    file: (file_data: string) => ({
      messages: user({ type: 'file', file: { file_data, filename: 'a.txt' } }),
    }),
  },
  responses: {
    path: '/v1/responses',
    image: (image_url: string) => ({ input: user({ type: 'input_image', image_url }) }),
    file: (file_data: string) => ({ input: user({ type: 'input_file', file_data, filename: 'a.txt' }) }),
  },
  messages: {
    path: '/v1/messages',
    image: (url: string) => ({ max_tokens: 9, messages: user({ type: 'image', source: sourceOf(url) }) }),
    file: undefined,
  },
}

function sourceOf(url: string): object {
  const [, media_type, data] = /^data:([^;]*);base64,(.*)$/.exec(url) ?? []
  return data === undefined ? { type: 'url', url } : { type: 'base64', media_type, data }
}

const TEXT_URLS = [
  `data:text/plain;base64;foo=bar,${TEXT}`,
  `data:text/plain;charset=utf-8;base64;foo=bar,${TEXT}`,
  `DATA:TEXT/PLAIN;foo=bar;BASE64,${TEXT}`,
  `data:text/plain; base64 ; charset=utf-8,${TEXT}`,
  `data:base64,${TEXT}`,
  `data:text/plain;b%61se64,${TEXT}`,
  `data:text/plain;foo="a,b";base64,${TEXT}`,
  `data:text/plain;base64,${encodeURIComponent(TEXT)}`,
  `data:text/plain;base64,${TEXT.replace(/(....)/g, '$1 \r\n')}`,
  `data:text/plain;charset=utf-8,the%20se%63ret%20word`,
  `data:application/octet-stream;base64;x=y,${TEXT}`,
  `data:image/png;base64;x=y,${TEXT}`,
]

const FETCHED_URLS = [
  'https://example.com/se%63ret.png',
  'https://example.com/%73%65%63%72%65%74?x=1',
  'https://example.com/?q=%2573ecret',
  'https://example.com/?q=%257%33ecret',
  'https://example.com/?q=top+secret',
]

describe('encoded media', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway

  before(async () => {
    sandbox = await startSandbox({ record: 1 })
    gateway = await startGateway({ ...providersAt(sandbox), ...(await withSettings(UNLIMITED)) })
  })
  after(async () => {
    await gateway?.stop()
    await sandbox?.close()
  })

  async function withRule(rule: object, use: () => Promise<void>): Promise<void> {
    const { body: made } = await gateway.call('POST', '/v1/firewall-rules', firewallRuleBody(rule))
    expect(made.data, JSON.stringify(made)).to.have.property('id')
    try {
      await use()
    } finally {
      await gateway.call('DELETE', `/v1/firewall-rules/${made.data.id}`)
    }
  }

  const send = (path: string, body: object, model = 'gpt-4o') =>
    gateway.call('POST', path, { model, ...body })
  const sent = () => JSON.stringify(sandbox.requests.at(-1)?.body)

  for (const [name, { path, image, file }] of Object.entries(DIALECTS)) {
    it(`is refused for text that any decoder would find: ${name}`, () =>
      withRule({ pattern: 'secret', action: 'block' }, async () => {
        for (const url of file ? TEXT_URLS : []) {
          expect((await send(path, image(url))).status, url).to.equal(403)
          expect((await send(path, file?.(url) ?? {})).status, url).to.equal(403)
        }
        const pattern = { pattern: 'top secret', action: 'block' }
        for (const url of FETCHED_URLS.slice(0, -1))
          expect((await send(path, image(url))).status, url).to.equal(403)
        await withRule(pattern, async () => {
          for (const url of FETCHED_URLS.slice(-1))
            expect((await send(path, image(url))).status, url).to.equal(403)
        })
      }))

    it(`is masked in a form that holds the word no more: ${name}`, () =>
      withRule({ pattern: 'secret', action: 'mask', replacement: '[gone]' }, async () => {
        for (const url of FETCHED_URLS) {
          expect((await send(path, image(url))).status, url).to.equal(200)
          expect(sent(), url).to.contain('%5Bgone%5D').and.to.contain('https://example.com/')
        }
        if (!file) return
        for (const url of TEXT_URLS.slice(0, -2)) {
          const { status, body } = await send(path, file(url))
          expect(status, `${url} ${JSON.stringify(body)}`).to.equal(200)
          const data = /data:[^"\\]*(?:\\"[^"]*)?base64,([\w+/=-]*)/.exec(sent())?.[1] ?? ''
          expect(Buffer.from(data, 'base64').toString(), url).to.equal('the [gone] word')
          expect(sent()).not.to.contain(TEXT)
        }
      }))

    for (const action of ['block', 'mask'])
      it(`leaves tiny images alone, whatever a rule with the action ${action} finds in Base64: ${name}`, () =>
        withRule({ type: 'regex', pattern: 'VBORw|GODlhAQ', action, replacement: 'xy' }, async () => {
          for (const [type, data] of Object.entries({ png: TINY_PNG, gif: TINY_GIF })) {
            const body = image(`data:image/${type};base64,${data}`)
            for (const model of ['gpt-4o', 'claude-sonnet-4-5', 'gemini-2.5-flash']) {
              const { status, body: answer } = await send(path, body, model)
              expect(status, JSON.stringify(answer)).to.equal(200)
              expect(sent(), model).to.contain(data)
            }
          }
        }))
  }

  it('leaves tiny recordings alone, too', () =>
    withRule({ pattern: 'UklGR', action: 'block' }, async () => {
      const messages = user({ type: 'input_audio', input_audio: { data: TINY_WAV, format: 'wav' } })
      const { status } = await send('/v1/chat/completions', { messages }, 'gpt-4o-audio-preview')
      expect(status).not.to.equal(403)
    }))

  it('is inspected in documents and domains that Anthropic fetches', () =>
    withRule({ pattern: 'secret', action: 'block' }, async () => {
      const url = 'https://example.com/se%63ret.pdf'
      const messages = user({ type: 'document', source: { type: 'url', url } })
      const hello = [{ role: 'user', content: 'Hello' }]
      const search = { type: 'web_search_20250305', name: 'web_search' }
      for (const body of [
        { messages },
        { messages: hello, tools: [{ ...search, allowed_domains: ['se%63ret.example.com'] }] },
        { messages: hello, tools: [{ ...search, blocked_domains: ['se%63ret.example.com'] }] },
        { messages: hello, mcp_servers: [{ type: 'url', name: 'x', url: 'https://x.example/se%63ret' }] },
      ]) {
        const { status } = await send('/v1/messages', { max_tokens: 9, ...body }, 'claude-sonnet-4-5')
        expect(status, JSON.stringify(body)).to.equal(403)
      }
    }))
})
