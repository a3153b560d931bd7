import { expect } from 'chai'
import type { Message } from '../../../../core/contract/chat.ts'
import { bodyOf, user } from './target.ts'

const PNG = 'data:image/png;base64,aVZCT1I='

describe('converting messages for Anthropic', () => {
  describe('system messages', () => {
    it('joins the texts before the first turn, and marks later ones in their place', () => {
      const { system, messages } = bodyOf({
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
          user,
          { role: 'developer', content: [{ type: 'text', text: 'Be quick.' }] },
          { role: 'system', content: '' },
        ],
      })
      expect(system).to.equal('Be brief.\n\nBe kind.')
      const { content } = turn('user', 'Which track?')
      const reminder = { type: 'text', text: '<system-reminder>\nBe quick.\n</system-reminder>' }
      expect(messages).to.deep.equal([{ role: 'user', content: [...content, reminder] }])
    })

    it('keeps separate blocks if one has a cache control', () => {
      const part = { type: 'text', text: 'Long.', cache_control: { type: 'ephemeral' } }
      const { system } = bodyOf({ messages: [{ role: 'system', content: [part] }, user] })
      expect(system).to.deep.equal([part])
    })

    it('sends system messages as a user message if there are no others', () => {
      expect(bodyOf({ messages: [{ role: 'system', content: 'Say hi.' }] })).to.deep.include({
        messages: [turn('user', 'Say hi.')],
      })
    })
  })

  describe('user, assistant and tool messages', () => {
    it('merges tool results and the text after them into one user message', () => {
      const { messages } = bodyOf({
        messages: [user, calling('a', 'b'), result('a', 'left'), result('b', 'right'), say('Go on.')],
      })
      expect(messages.slice(2)).to.deep.equal([
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'a', content: 'left' },
            { type: 'tool_result', tool_use_id: 'b', content: 'right' },
            { type: 'text', text: 'Go on.' },
          ],
        },
      ])
    })

    it('puts tool results before the text, even if the client does not', () => {
      const { messages } = bodyOf({ messages: [user, calling('a'), say('Well?'), result('a', 'left')] })
      expect(messages.at(-1)!.content.map(({ type }) => type)).to.deep.equal(['tool_result', 'text'])
    })

    it('does not let a system message separate tool results', () => {
      const { messages } = bodyOf({
        messages: [
          user,
          calling('a', 'b'),
          result('a', 'left'),
          { role: 'system', content: 'x' },
          result('b', 'x'),
        ],
      })
      expect(messages).to.have.length(3)
    })

    it('sends no empty text block beside tool calls', () => {
      for (const content of ['', null, [{ type: 'text', text: ' ' }]]) {
        const { messages } = bodyOf({
          messages: [user, { ...calling('a'), content }, result('a', 'left')],
        })
        expect(messages[1]).to.deep.equal({
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'a', name: 'look', input: { to: 'left' } }],
        })
      }
    })

    it('skips blank texts, and messages without other content', () => {
      const { messages } = bodyOf({
        messages: [
          say(''),
          say([
            { type: 'text', text: '' },
            { type: 'text', text: 'Hi' },
          ]),
        ],
      })
      expect(messages).to.deep.equal([turn('user', 'Hi')])
    })

    it('converts empty arguments to an empty object', () => {
      const call = { id: 'a', type: 'function', function: { name: 'ring', arguments: '' } }
      const { messages } = bodyOf({
        messages: [user, { role: 'assistant', tool_calls: [call] }, result('a', '')],
      })
      expect(messages[1]!.content[0]).to.deep.include({ input: {} })
      expect(messages[2]!.content[0]).to.deep.include({ content: '' })
    })

    for (const json of ['{"to":', '[]', 'null', '7']) {
      it(`carries the arguments ${json} as text`, () => {
        const call = { id: 'a', type: 'function', function: { name: 'ring', arguments: json } }
        const { messages } = bodyOf({
          messages: [user, { role: 'assistant', tool_calls: [call] }, result('a', '')],
        })
        expect(messages[1]!.content[0]).to.deep.include({ input: { invalid_arguments: json } })
      })
    }

    it('converts tool results of several parts, including images', () => {
      const content = [
        { type: 'text', text: 'See:' },
        { type: 'image_url', image_url: { url: PNG } },
      ]
      const { messages } = bodyOf({ messages: [user, calling('a'), { ...result('a', ''), content }] })
      const [block] = messages[2]!.content
      expect(block).to.have.nested.property('content[1].source.media_type', 'image/png')
    })

    it('does not send reasoning back', () => {
      const { messages } = bodyOf({
        messages: [user, { role: 'assistant', content: 'Nine.', reasoning_content: 'Eight is taken.' }, user],
      })
      expect(messages[1]).to.deep.equal(turn('assistant', 'Nine.'))
    })

    it('sends a refusal as text of the assistant', () => {
      for (const message of [
        { role: 'assistant', content: null, refusal: 'No.' },
        { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
      ] as const) {
        expect(bodyOf({ messages: [user, message, user] }).messages[1]).to.deep.equal(
          turn('assistant', 'No.'),
        )
      }
    })

    it('trims an assistant message at the end', () => {
      const { messages } = bodyOf({ messages: [user, { role: 'assistant', content: 'Track \n' }] })
      expect(messages[1]).to.deep.equal(turn('assistant', 'Track'))
    })

    it('rejects a tool message without an id', () => {
      expectRefusal([{ role: 'tool', content: 'x' }], 'missing_parameter', 'messages[0].tool_call_id')
    })
  })

  describe('images', () => {
    for (const type of ['image/jpeg', 'image/png', 'image/gif', 'image/webp']) {
      it(`sends ${type} in base64`, () => {
        expect(imageOf(`data:${type};base64,AAAA`)).to.deep.equal({
          type: 'image',
          source: { type: 'base64', media_type: type, data: 'AAAA' },
        })
      })
    }

    it('normalizes image/jpg and upper case', () => {
      expect(imageOf('DATA:image/JPG;base64,AAAA')).to.have.nested.property('source.media_type', 'image/jpeg')
    })

    it('converts a data URL that is not in base64', () => {
      expect(imageOf('data:image/png,%41B')).to.have.nested.property('source.data', 'QUI=')
      expect(imageOf('data:image/png,%')).to.have.nested.property('source.data', 'JQ==')
    })

    it('passes on the URL of an image', () => {
      const url = 'https://example.com/a.png'
      expect(imageOf(url)).to.deep.equal({ type: 'image', source: { type: 'url', url } })
    })

    it('drops the detail, and keeps the cache control', () => {
      const cache_control = { type: 'ephemeral' }
      const part = { type: 'image_url', image_url: { url: PNG, detail: 'low' }, cache_control }
      const [block] = bodyOf({ messages: [say([part])] }).messages[0]!.content
      expect(block).to.deep.include({ cache_control }).and.to.have.nested.property('source.data')
    })

    for (const url of ['data:image/bmp;base64,AAAA', 'data:constructor,x', 'ftp://example.com/a.png', '']) {
      it(`rejects ${url || 'an empty URL'}`, () => {
        const part = { type: 'image_url', image_url: { url } }
        expectRefusal(
          [user, say([{ type: 'text', text: 'x' }, part])],
          'invalid_value',
          'messages[1].content[1].image_url.url',
        )
      })
    }
  })

  describe('files', () => {
    it('sends a PDF as a document', () => {
      expect(fileOf('data:application/pdf;base64,JVBERi0=')).to.deep.equal({
        type: 'document',
        title: 'plan.pdf',
        source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
      })
    })

    it('sends a text file as a document', () => {
      expect(fileOf('data:text/markdown;charset=utf-8;base64,R2xlaXMg8J+agg==')).to.deep.include({
        source: { type: 'text', media_type: 'text/plain', data: 'Gleis 🚂' },
      })
    })

    it('rejects other files, and file ids', () => {
      const param = 'messages[0].content[0].file.file_data'
      const other = { type: 'file', file: { file_data: 'data:application/zip;base64,AAAA' } }
      expectRefusal([say([other])], 'invalid_value', param)
      const byId = { type: 'file', file: { file_id: 'file-1' } }
      expectRefusal([say([byId])], 'unsupported_parameter', 'messages[0].content[0].file.file_id')
    })
  })

  it('rejects other parts', () => {
    for (const type of ['input_audio', 'video_url']) {
      expectRefusal([say([{ type }])], 'unsupported_parameter', 'messages[0].content[0]')
    }
  })

  it('moves images of instructions and earlier replies to the user', () => {
    for (const role of ['system', 'assistant'] as const) {
      const content = [{ type: 'image_url', image_url: { url: PNG } }]
      const { messages } = bodyOf({ messages: [{ role, content }, say('Look.')] })
      expect(messages.map(({ role, content }) => [role, content.map(({ type }) => type)])).to.deep.equal([
        ['user', ['text', 'image', 'text']],
      ])
    }
  })
})

function say(content: NonNullable<Message['content']>): Message {
  return { role: 'user', content }
}

function calling(...ids: string[]): Message {
  return {
    role: 'assistant',
    tool_calls: ids.map((id) => ({
      id,
      type: 'function',
      function: { name: 'look', arguments: '{"to":"left"}' },
    })),
  }
}

function result(tool_call_id: string, content: string): Message {
  return { role: 'tool', tool_call_id, content }
}

function turn(role: 'user' | 'assistant', text: string) {
  return { role, content: [{ type: 'text' as const, text }] }
}

function imageOf(url: string) {
  return bodyOf({ messages: [say([{ type: 'image_url', image_url: { url } }])] }).messages[0]!.content[0]
}

function fileOf(file_data: string) {
  const part = { type: 'file', file: { file_data, filename: 'plan.pdf' } }
  return bodyOf({ messages: [say([part])] }).messages[0]!.content[0]
}

function expectRefusal(messages: Message[], code: string, param: string) {
  expect(() => bodyOf({ messages }))
    .to.throw()
    .that.nested.includes({ code, 'details.param': param })
}
