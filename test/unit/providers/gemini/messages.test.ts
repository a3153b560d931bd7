import { expect } from 'chai'
import type { ContentPart, Message } from '../../../../core/contract/chat.ts'
import { argon, bodyOf, contentsOf, errorOf, old, target } from './calls.ts'

const call = (id: string, name: string, json = '{}', extra_content?: object) => ({
  id,
  type: 'function',
  function: { name, arguments: json },
  ...(extra_content && { extra_content: { ...extra_content } }),
})

const signed = (signature: string) => ({ google: { thought_signature: signature } })

describe('converting messages for Gemini', () => {
  it('puts system messages before the first turn into systemInstruction, and marks later ones', () => {
    const body = bodyOf({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hi' },
        { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
      ],
    })
    expect(body.systemInstruction).to.deep.equal({ parts: [{ text: 'Be brief.' }] })
    const reminder = { text: '<system-reminder>\nBe kind.\n</system-reminder>' }
    expect(body.contents).to.deep.equal([{ role: 'user', parts: [{ text: 'Hi' }, reminder] }])
  })

  it('sends no systemInstruction for an empty system message', () => {
    const body = bodyOf({
      messages: [
        { role: 'system', content: '' },
        { role: 'user', content: 'Hi' },
      ],
    })
    expect(body).not.to.have.property('systemInstruction')
  })

  it("sends the system message as the user's first text to Gemma", () => {
    const messages: Message[] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
    ]
    const body = bodyOf({ messages }, target('gemma-4-27b-it'))
    expect(body).not.to.have.property('systemInstruction')
    const parts = [{ text: 'Be brief.\n\n' }, { text: 'Hi' }]
    expect(body.contents).to.deep.equal([{ role: 'user', parts }])
  })

  it('sends system messages as user content if there are no others', () => {
    expect(contentsOf([{ role: 'system', content: 'Begin.' }])).to.deep.equal([
      { role: 'user', parts: [{ text: 'Begin.' }] },
    ])
  })

  it('merges neighbours of the same role, and drops empty texts', () => {
    expect(
      contentsOf([
        { role: 'user', content: 'a' },
        { role: 'assistant', content: '' },
        { role: 'user', content: [{ type: 'text', text: 'b' }] },
        { role: 'assistant', content: 'c' },
        { role: 'assistant', content: [{ type: 'refusal', refusal: 'd' }] },
      ]),
    ).to.deep.equal([
      { role: 'user', parts: [{ text: 'a' }, { text: 'b' }] },
      { role: 'model', parts: [{ text: 'c' }, { text: 'd' }] },
    ])
  })

  it('does not send reasoning back', () => {
    const message: Message = { role: 'assistant', content: 'Nine.', reasoning_content: 'Eight is taken.' }
    expect(contentsOf([message])).to.deep.equal([{ role: 'model', parts: [{ text: 'Nine.' }] }])
  })

  describe('tools', () => {
    const turn: Message[] = [
      { role: 'user', content: 'Weather and time?' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [call('c1', 'get_weather', '{"city":"Bern"}', signed('sig')), call('c2', 'get_time', '')],
      },
      { role: 'tool', tool_call_id: 'c1', content: '{"degrees":21}' },
      { role: 'tool', tool_call_id: 'c2', content: 'noon' },
      { role: 'user', content: 'And?' },
    ]

    it('sends each result with the name of its function, and all results of a turn in one content', () => {
      expect(contentsOf(turn)).to.deep.equal([
        { role: 'user', parts: [{ text: 'Weather and time?' }] },
        {
          role: 'model',
          parts: [
            {
              functionCall: { id: 'c1', name: 'get_weather', args: { city: 'Bern' } },
              thoughtSignature: 'sig',
            },
            { functionCall: { id: 'c2', name: 'get_time', args: {} } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { id: 'c1', name: 'get_weather', response: { degrees: 21 } } },
            { functionResponse: { id: 'c2', name: 'get_time', response: { output: 'noon' } } },
            { text: 'And?' },
          ],
        },
      ])
    })

    it('sends no ids to models before Gemini 3', () => {
      const text = JSON.stringify(contentsOf(turn, old))
      expect(text).to.contain('get_weather').and.not.to.contain('"id"')
    })

    it('sends results in the order of their calls', () => {
      const [user, calls, first, second, last] = turn as [Message, Message, Message, Message, Message]
      expect(contentsOf([user, calls, second, first, last])).to.deep.equal(contentsOf(turn))
    })

    it('replaces a lost signature on the first call of each message only', () => {
      const parts = contentsOf([
        { role: 'user', content: 'Hi' },
        { role: 'assistant', tool_calls: [call('c1', 'a'), call('c2', 'b')] },
        { role: 'tool', tool_call_id: 'c1', content: '1' },
        { role: 'tool', tool_call_id: 'c2', content: '2' },
        { role: 'assistant', tool_calls: [call('c3', 'c', '{}', { openai: {} })] },
        { role: 'tool', tool_call_id: 'c3', content: '3' },
      ]).flatMap((content) => content.parts)
      expect(parts.flatMap((part) => ('functionCall' in part ? [part.thoughtSignature] : []))).to.deep.equal([
        'skip_thought_signature_validator',
        undefined,
        'skip_thought_signature_validator',
      ])
    })

    it('replaces no signature for models before Gemini 3', () => {
      const message: Message = { role: 'assistant', tool_calls: [call('c1', 'a')] }
      const result: Message = { role: 'tool', tool_call_id: 'c1', content: '1' }
      for (const to of [old, target('gemma-4')]) {
        expect(JSON.stringify(contentsOf([message, result], to))).not.to.contain('thoughtSignature')
      }
    })

    it('distinguishes calls of different messages with the same id', () => {
      const parts = contentsOf([
        { role: 'assistant', tool_calls: [call('c', 'one')] },
        { role: 'tool', tool_call_id: 'c', content: '1' },
        { role: 'assistant', tool_calls: [call('c', 'two')] },
        { role: 'tool', tool_call_id: 'c', content: '2' },
      ]).flatMap((content) => content.parts)
      expect(
        parts.flatMap((part) => ('functionResponse' in part ? [part.functionResponse.name] : [])),
      ).to.deep.equal(['one', 'two'])
    })

    for (const [content, response] of [
      ['[1,2]', { output: '[1,2]' }],
      ['null', { output: 'null' }],
      ['', { output: '' }],
      ['{"a":', { output: '{"a":' }],
    ] as const) {
      it(`wraps the result ${JSON.stringify(content)} in an object`, () => {
        const contents = contentsOf([
          { role: 'assistant', tool_calls: [call('c', 'one')] },
          { role: 'tool', tool_call_id: 'c', content },
        ])
        expect(contents[1]?.parts).to.deep.equal([{ functionResponse: { id: 'c', name: 'one', response } }])
      })
    }

    it('joins the texts of a result', () => {
      const content = ['a', 'b'].map((text) => ({ type: 'text', text }))
      const contents = contentsOf([
        { role: 'assistant', tool_calls: [call('c', 'one')] },
        { role: 'tool', tool_call_id: 'c', content },
      ])
      expect(JSON.stringify(contents)).to.contain('{"output":"a\\nb"}')
    })

    it('rejects a result without a call, and names the message', () => {
      const error = errorOf(() =>
        contentsOf([
          { role: 'user', content: 'Hi' },
          { role: 'tool', tool_call_id: 'lost', content: '' },
        ]),
      )
      expect(error.code).to.equal('invalid_value')
      expect(error.message).to.equal(
        'messages[1].tool_call_id must be the id of an earlier tool call, not "lost".',
      )
      expect(error.details.param).to.equal('messages[1].tool_call_id')
    })

    it('carries arguments that are not an object as text', () => {
      const message: Message = { role: 'assistant', tool_calls: [call('c', 'one', '{"a":')] }
      const part = contentsOf([message])[0]?.parts[0]
      expect(part).to.have.nested.property('functionCall.args').that.eql({ invalid_arguments: '{"a":' })
    })
  })

  describe('media', () => {
    const partOf = (part: ContentPart) => contentsOf([{ role: 'user', content: [part] }])[0]?.parts[0]
    const image = (url: unknown): ContentPart => ({ type: 'image_url', image_url: { url, detail: 'low' } })

    for (const [part, expected] of [
      [image('data:image/png;base64,iVBORw=='), { inlineData: { mimeType: 'image/png', data: 'iVBORw==' } }],
      [
        image('data:image/svg+xml,%3Csvg/%3E'),
        { inlineData: { mimeType: 'image/svg+xml', data: 'PHN2Zy8+' } },
      ],
      [
        image('https://example.com/a.JPG?w=1#x'),
        { fileData: { fileUri: 'https://example.com/a.JPG?w=1#x', mimeType: 'image/jpeg' } },
      ],
      [image('https://example.com/a'), { fileData: { fileUri: 'https://example.com/a' } }],
      [
        { type: 'image_url', image_url: 'https://example.com/a.webp' },
        { fileData: { fileUri: 'https://example.com/a.webp', mimeType: 'image/webp' } },
      ],
      [
        { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
        { inlineData: { mimeType: 'audio/wav', data: 'UklGRg==' } },
      ],
      [
        { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
        { inlineData: { mimeType: 'application/pdf', data: 'JVBERi0=' } },
      ],
      [
        { type: 'file', file: { file_data: 'JVBERi0=' } },
        { inlineData: { mimeType: 'application/pdf', data: 'JVBERi0=' } },
      ],
    ] as const) {
      it(`converts ${JSON.stringify(part)}`, () => expect(partOf(part)).to.deep.equal(expected))
    }

    for (const [part, code, param] of [
      [image('ftp://example.com'), 'invalid_value', 'messages[0].content[0].image_url'],
      [image('data:;base64,AAAA'), 'invalid_value', 'messages[0].content[0].image_url'],
      [image(undefined), 'invalid_value', 'messages[0].content[0].image_url'],
      [{ type: 'input_audio', input_audio: {} }, 'invalid_value', 'messages[0].content[0].input_audio'],
      [
        { type: 'file', file: { file_id: 'f1' } },
        'unsupported_parameter',
        'messages[0].content[0].file.file_id',
      ],
      [{ type: 'video_url', video_url: {} }, 'unsupported_parameter', 'messages[0].content[0]'],
    ] as const) {
      it(`rejects ${JSON.stringify(part)}`, () => {
        const error = errorOf(() => partOf(part))
        expect(error.code).to.equal(code)
        expect(error.details.param).to.equal(param)
      })
    }

    it('moves images of system messages to the user', () => {
      const content = [image('data:image/png;base64,AAAA')]
      const [first] = contentsOf([{ role: 'system', content }], argon)
      expect(first?.role).to.equal('user')
      expect(first?.parts.at(-1)).to.have.property('inlineData')
    })
  })
})
