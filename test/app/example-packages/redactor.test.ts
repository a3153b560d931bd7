import { expect } from 'chai'
import { chatBody } from '../../support/bodies.ts'
import { type Body, DIALECTS, readRecords } from '../../support/dialects.ts'
import { payTool, postAs, startWithExamples } from '../../support/example-packages.ts'
import type { RunningGateway } from '../../support/gateway.ts'
import { MODELS, PROVIDERS } from '../../support/providers.ts'

describe('signalbox-redactor', function () {
  this.timeout(180_000)
  const CARD = '4111-2222-3333-4444'
  let gateway: RunningGateway
  before(async () => {
    const options = { pattern: '\\b\\d{4}(-\\d{4}){3}\\b', replacement: '[card]', max_match_length: 19 }
    gateway = await startWithExamples({
      inner: ['signalbox-exact-cache'],
      last: [{ use: 'signalbox-redactor', options }],
    })
  })
  after(() => gateway.stop())

  for (const provider of PROVIDERS) {
    for (const [name, { url, body, streams }] of Object.entries(DIALECTS)) {
      const model = MODELS[provider] ?? ''
      const tool = payToolOf(name)
      const requests = {
        text: body(model, `Is ${CARD} my card?`),
        // Legacy completions and /route have no tools.
        ...(streams &&
          name !== 'completions' && { 'a tool call': { ...body(model, 'Use the tool'), tools: [tool] } }),
      }
      for (const [what, question] of Object.entries(requests)) {
        for (const stream of streams ? [false, true] : [false]) {
          it(`redacts ${what}: ${provider}, ${name}, ${stream ? 'streamed' : 'whole'}`, async () => {
            const response = await postAs(gateway.demoKey, url(gateway), { ...question, stream })
            const text = await response.text()
            expect(response.status, text).to.equal(200)
            const replied = stream ? joinDeltas(text) : text
            expect(replied).to.contain('[card]')
            expect(outputOf(name, text, stream)).not.to.contain('2222-3333')
          })
        }
      }
    }
  }

  /** The tool in the format of a dialect. */
  function payToolOf(dialect: string): object {
    const { name, parameters, ...rest } = payTool(CARD).function
    if (dialect === 'messages') return { name, ...rest, input_schema: parameters }
    return dialect === 'responses' ? { type: 'function', name, parameters, ...rest } : payTool(CARD)
  }

  it('redacts replies of other plugins', async () => {
    const body = chatBody(`Is ${CARD} my card?`, { temperature: 0 })
    for (const cache of ['miss', 'hit']) {
      const answer = await gateway.call('POST', '/v1/chat/completions', body)
      expect(answer.headers.get('x-cache')).to.equal(cache)
      expect(answer.body.choices[0].message.content).to.contain('Is [card] my card?').and.not.to.contain(CARD)
    }
  })

  it('stops the start with an invalid pattern', async () => {
    const error = await startWithExamples({
      last: [{ use: 'signalbox-redactor', options: { pattern: '(' } }],
    }).then(
      () => expect.fail('started'),
      (thrown: Error) => thrown,
    )
    expect(error.message).to.contain('plugin "signalbox-redactor" could not be set up: Invalid regular')
  })
})

/** The deltas of a stream of any dialect. */
function joinDeltas(text: string): string {
  return readRecords(text)
    .map((record) => {
      const { delta, text: completed } = record.choices?.[0] ?? {}
      if (typeof record.delta === 'string') return record.delta
      if (record.delta) return `${record.delta.text ?? ''}${record.delta.partial_json ?? ''}`
      return `${completed ?? ''}${delta?.content ?? ''}${delta?.tool_calls?.[0]?.function?.arguments ?? ''}`
    })
    .join('')
}

/** A response without the tools of the request, which `/v1/responses` echoes. */
function outputOf(dialect: string, text: string, isStream: boolean): string {
  if (dialect !== 'responses') return text
  const records: Body[] = isStream ? readRecords(text) : [{ response: JSON.parse(text) }]
  return JSON.stringify(
    records.map(({ response, ...record }) => (response ? { ...record, output: response.output } : record)),
  )
}
