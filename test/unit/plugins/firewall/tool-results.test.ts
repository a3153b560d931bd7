import { expect } from 'chai'
import type { FirewallRule } from '../../../../core/contract/index.ts'
import { firewallRule } from '../../../support/rules.ts'
import { inspectToolText } from '../../../support/tool-firewall.ts'

const PNG = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR secret secret secret', 'latin1').toString('base64')
const base64 = (text: string) => Buffer.from(text).toString('base64')

const secret: Partial<FirewallRule> = { pattern: 'secret', replacement: '***' }

async function mask(scope: 'tool_result' | 'prompt', json: string, more = secret): Promise<string> {
  const { json: masked, error } = await inspectToolText(scope, json, { rules: [firewallRule(more)] })
  return masked ?? error?.message ?? ''
}

const maskResult = (json: string, more?: Partial<FirewallRule>) => mask('tool_result', json, more)

/** The masks of a substring in results: source, and what remains. */
const MASKED: Readonly<Record<string, readonly [string, string]>> = {
  'a text': [
    '{"content": [ {"type":"text", "text":"a secret"} ] }',
    '{"content": [ {"type":"text", "text":"a ***"} ] }',
  ],
  'a text with escapes': ['{"content":[{"text":"\\u0073ecret\\n"}]}', '{"content":[{"text":"***\\n"}]}'],
  'JSON in a text': [
    '{"content":[{"type":"text","text":"{ \\"a\\": \\"\\\\u0073ecret\\", \\"b\\": 1.0 }"}]}',
    '{"content":[{"type":"text","text":"{ \\"a\\": \\"***\\", \\"b\\": 1.0 }"}]}',
  ],
  'each of two texts': [
    '{"content":[{"type":"text","text":"secret 1"},{"type":"text","text":"secret 2"}]}',
    '{"content":[{"type":"text","text":"*** 1"},{"type":"text","text":"*** 2"}]}',
  ],
  'structured content, with its names': [
    '{"structuredContent":{"secret":[{"x":"secret"},10.00]},"isError":false}',
    '{"structuredContent":{"***":[{"x":"***"},10.00]},"isError":false}',
  ],
  'an embedded resource': [
    '{"content":[{"type":"resource","resource":{"uri":"file:///secret","mimeType":"text/plain","text":"secret"}}]}',
    '{"content":[{"type":"resource","resource":{"uri":"file:///***","mimeType":"text/plain","text":"***"}}]}',
  ],
  'a percent-encoded address': [
    '{"content":[{"type":"resource_link","uri":"file:///%73ecret/%20","name":"a secret"}]}',
    '{"content":[{"type":"resource_link","uri":"file:///***/%20","name":"a ***"}]}',
  ],
  'a text file': [
    `{"content":[{"resource":{"blob":"${base64('a secret file')}","mimeType":"text/plain"}}]}`,
    `{"content":[{"resource":{"blob":"${base64('a *** file')}","mimeType":"text/plain"}}]}`,
  ],
  'a text file without a media type': [
    `{"contents":[{"uri":"a:b","blob":"${base64('a secret file')}"}]}`,
    `{"contents":[{"uri":"a:b","blob":"${base64('a *** file')}"}]}`,
  ],
  'no image': [
    `{"content":[{"type":"image","data":"${PNG}","mimeType":"image/png"},{"type":"text","text":"secret"}]}`,
    `{"content":[{"type":"image","data":"${PNG}","mimeType":"image/png"},{"type":"text","text":"***"}]}`,
  ],
  'an image that is none': [
    '{"content":[{"type":"image","data":"the secret itself","mimeType":"image/png"}]}',
    '{"content":[{"type":"image","data":"the *** itself","mimeType":"image/png"}]}',
  ],
  'unknown fields, with their names': [
    '{"content":[{"type":"text","text":"a","secret":{"b":"secret"}}],"more":["secret"]}',
    '{"content":[{"type":"text","text":"a","***":{"b":"***"}}],"more":["***"]}',
  ],
  'a value where an object belongs': [
    '{"content":"secret","_meta":["secret"]}',
    '{"content":"***","_meta":["***"]}',
  ],
  'both of two equal names': [
    '{"content":[{"type":"text","text":"secret","text":"b"}],"content":["secret"]}',
    '{"content":[{"type":"text","text":"***","text":"b"}],"content":["***"]}',
  ],
  'a name with escapes': [
    '{"c\\u006fntent":[{"typ\\u0065":"text","\\u0074ext":"secret"}]}',
    '{"c\\u006fntent":[{"typ\\u0065":"text","\\u0074ext":"***"}]}',
  ],
  'prose in place of a type': [
    '{"content":[{"type":"a secret","text":""}]}',
    '{"content":[{"type":"a ***","text":""}]}',
  ],
  'messages of a prompt': [
    '{"description":"secret","messages":[{"role":"user","content":{"type":"text","text":"secret"}}]}',
    '{"description":"***","messages":[{"role":"user","content":{"type":"text","text":"***"}}]}',
  ],
  'what a server asks for': [
    '{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"form",' +
      '"message":"secret","requestedSchema":{"type":"object","properties":{"secret":{"type":"string"}}}}}}}',
    '{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"form",' +
      '"message":"***","requestedSchema":{"type":"object","properties":{"***":{"type":"string"}}}}}}}',
  ],
  'a text that is not JSON': ['{"content":secret', '{"content":***'],
  'a string': ['"secret"', '"***"'],
}

describe('firewall rules for results of tools', () => {
  for (const [name, [json, expected]] of Object.entries(MASKED))
    it(`mask ${name}`, async () => {
      expect(await maskResult(json)).to.equal(expected)
    })

  it('mask numbers as they are written, and in their usual form', async () => {
    const more = { pattern: '4100' }
    expect(await maskResult('{"structuredContent":[4.1e3,4100,41]}', more)).to.equal(
      '{"structuredContent":["[redacted]","[redacted]",41]}',
    )
    expect(await maskResult('{"completion":{"total":12344100},"size":4.1e3}', more)).to.equal(
      '{"completion":{"total":"1234[redacted]"},"size":"[redacted]"}',
    )
    expect(await maskResult(' 4100 ', more)).to.equal(' "[redacted]" ')
  })

  it('do not see the names and words of the protocol', async () => {
    const json =
      '{"resultType":"complete","content":[{"type":"text","text":"a","annotations":{"audience":["user"],' +
      '"priority":1}},{"type":"resource_link","uri":"a:b","mimeType":"text/plain"}],"isError":false,"ttlMs":60000000,' +
      '"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}'
    for (const pattern of [
      'type',
      'text',
      'content',
      'complete',
      'user',
      'priority',
      'plain',
      'name',
      '60000000',
    ]) {
      const { json: inspected, trace } = await inspectToolText('tool_result', json, {
        rules: [firewallRule({ pattern, action: 'mask' })],
      })
      expect([pattern, inspected, trace.length]).to.deep.equal([pattern, json, 0])
    }
  })

  it('find a word that is divided between texts, and refuse to mask it', async () => {
    const json = '{"content":[{"type":"text","text":"a sec"},{"type":"text","text":"ret"}]}'
    expect(await maskResult(json)).to.match(
      /^Tool result blocked by firewall rule "A rule": it matches text that cannot be masked/,
    )
    expect(await maskResult(json, { ...secret, action: 'block' })).to.equal(
      'Tool result blocked by firewall rule "A rule".',
    )
  })

  it('refuse masks that make two names equal', async () => {
    const more = { ...secret, pattern: 'secret\\d', type: 'regex' } as const
    const inFields = await maskResult('{"secret1":1,"secret2":2}', more)
    expect(inFields).to.equal(
      'Tool result blocked by firewall rules: masks make two names of an object equal.',
    )
    const inDocument = await maskResult('{"structuredContent":{"secret1":1,"secret2":2}}', more)
    expect(inDocument).to.match(/^Tool result blocked by firewall rule "A rule": it matches text that cannot/)
    expect(await maskResult('{"secret1":1,"secret1":2}', more)).to.match(/^Tool result blocked/)
  })

  it('read documents of any depth', async () => {
    const depth = 20_000
    const nest = (open: string, inner: string, close: string) =>
      open.repeat(depth) + inner + close.repeat(depth)
    for (const [json, expected] of [
      [nest('[', '"secret"', ']'), nest('[', '"***"', ']')],
      [nest('{"content":', '"secret"', '}'), nest('{"content":', '"***"', '}')],
    ] as const) {
      for (const [before, after] of [
        ['{"structuredContent":', '}'],
        ['{"content":', '}'],
        ['', ''],
      ] as const)
        expect(
          (await maskResult(before + json + after)) === before + expected + after,
          json.slice(0, 20),
        ).to.equal(true)
    }
    const schema = (inner: string) =>
      `{"inputSchema":${nest('{"properties":{"a":', `{"description":"${inner}"}`, '}}')}}`
    expect((await mask('prompt', schema('secret'))) === schema('***')).to.equal(true)
  })
})

describe('firewall rules for definitions of tools', () => {
  const definition = (word: string) =>
    `{"name":"read","title":"${word}","description":"a ${word}",\n "inputSchema":{"type":"object","properties":` +
    `{"${word}":{"type":"string","enum":["${word}"],"minLength":1}},"required":["${word}"]},` +
    `"annotations":{"title":"${word}","readOnlyHint":true},"icons":[{"src":"https://a.example/${word}.png"}]}`

  it('mask all texts in their own text', async () => {
    expect(await mask('prompt', definition('secret'))).to.equal(definition('***'))
    const list = (word: string) => `{"tools":[${definition(word)}, ${definition(word)}],"ttlMs":1}`
    expect(await mask('prompt', list('secret'))).to.equal(list('***'))
  })

  it('do not see the words of a schema', async () => {
    for (const pattern of ['properties', 'object', 'description', 'readOnlyHint', 'inputSchema'])
      expect(await mask('prompt', definition('a'), { pattern })).to.equal(definition('a'))
  })
})
