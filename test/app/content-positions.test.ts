import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { firewallRuleBody } from '../support/bodies.ts'
import {
  type Asked,
  type Combination,
  combinations,
  type FormatName,
  refusalOf,
  startTranslationBench,
  type TranslationBench,
} from '../support/translation.ts'

// biome-ignore lint/suspicious/noExplicitAny: bodies of any dialect and format
type Loose = any

const PNG = `${Buffer.from('\x89PNG\r\n\x1a\n').toString('base64')}${'QUFB'.repeat(100)}`
const PDF = `${Buffer.from('%PDF-1.7\n').toString('base64')}${'QUFB'.repeat(100)}`
const IMAGE_URL = 'https://images.test/cat.png'
const PDF_URL = 'https://files.test/paper.pdf'

const DIALECTS = ['chat', 'messages', 'responses'] as const
type Dialect = (typeof DIALECTS)[number]
const all = combinations(DIALECTS).map((each) => ({ ...each, dialect: each.dialect as Dialect }))

/** A content part or block of each dialect. */
const PARTS: Readonly<Record<Dialect, Readonly<Record<string, object>>>> = {
  chat: {
    text: { type: 'text', text: 'the text' },
    image: { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
    imageUrl: { type: 'image_url', image_url: { url: IMAGE_URL } },
    pdf: { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` } },
    bare: { type: 'file', file: { filename: 'a.pdf', file_data: PDF } },
    pdfUrl: { type: 'file', file: { file_url: PDF_URL } },
    audio: { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
  },
  messages: {
    text: { type: 'text', text: 'the text' },
    image: { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
    imageUrl: { type: 'image', source: { type: 'url', url: IMAGE_URL } },
    pdf: {
      type: 'document',
      title: 'a.pdf',
      source: { type: 'base64', media_type: 'application/pdf', data: PDF },
    },
    pdfUrl: { type: 'document', source: { type: 'url', url: PDF_URL } },
    plain: { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'plain words' } },
    blocks: {
      type: 'document',
      source: {
        type: 'content',
        content: [
          { type: 'text', text: 'words in a block' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
        ],
      },
    },
  },
  responses: {
    text: { type: 'input_text', text: 'the text' },
    image: { type: 'input_image', image_url: `data:image/png;base64,${PNG}` },
    imageUrl: { type: 'input_image', image_url: IMAGE_URL },
    pdf: { type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` },
    bare: { type: 'input_file', filename: 'a.pdf', file_data: PDF },
    pdfUrl: { type: 'input_file', file_url: PDF_URL },
    audio: { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
  },
}

const SVG = Buffer.from('<svg>more than enough</svg>').toString('base64')

/** Parts of results that some formats do not read because of where they are stored, or their media type. */
const UNREADABLE: Readonly<Record<string, { text: string; readBy: ReadonlySet<FormatName> }>> = {
  fileId: {
    text: 'file-of-openai',
    readBy: new Set(['openai', 'responses', 'compatible', 'mistral', 'deepseek']),
  },
  pdfUrl: { text: PDF_URL, readBy: new Set(['responses', 'anthropic', 'gemini', 'mistral']) },
  svg: { text: SVG, readBy: new Set(['compatible', 'deepseek']) },
}

const UNREADABLE_PARTS: Readonly<Partial<Record<Dialect, Readonly<Record<string, object>>>>> = {
  chat: {
    fileId: { type: 'file', file: { file_id: 'file-of-openai' } },
    svg: { type: 'image_url', image_url: { url: `data:image/svg+xml;base64,${SVG}` } },
  },
  responses: {
    fileId: { type: 'input_file', file_id: 'file-of-openai' },
    svg: { type: 'input_image', image_url: `data:image/svg+xml;base64,${SVG}` },
  },
}

function userBody(dialect: Dialect, ...names: readonly string[]): object {
  const content = names.map((name) => PARTS[dialect][name])
  if (dialect === 'responses') return { input: [{ type: 'message', role: 'user', content }] }
  return { messages: [{ role: 'user', content }] }
}

/** Two parallel calls: the first returns these parts, the second a text. Then the user goes on. */
function resultBody(dialect: Dialect, ...names: readonly string[]): object {
  const content = names.map((name) => PARTS[dialect][name] ?? UNREADABLE_PARTS[dialect]?.[name])
  const ids = ['call_a', 'call_b']
  if (dialect === 'responses')
    return {
      input: [
        { type: 'message', role: 'user', content: 'look' },
        ...ids.map((call_id) => ({ type: 'function_call', call_id, name: 'look', arguments: '{}' })),
        { type: 'function_call_output', call_id: 'call_a', output: content },
        { type: 'function_call_output', call_id: 'call_b', output: 'second result' },
        { type: 'message', role: 'user', content: 'and now?' },
      ],
    }
  if (dialect === 'messages')
    return {
      messages: [
        { role: 'user', content: 'look' },
        { role: 'assistant', content: ids.map((id) => ({ type: 'tool_use', id, name: 'look', input: {} })) },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'call_a', content },
            { type: 'tool_result', tool_use_id: 'call_b', content: 'second result' },
            { type: 'text', text: 'and now?' },
          ],
        },
      ],
    }
  const tool_calls = ids.map((id) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } }))
  return {
    messages: [
      { role: 'user', content: 'look' },
      { role: 'assistant', content: null, tool_calls },
      { role: 'tool', tool_call_id: 'call_a', content },
      { role: 'tool', tool_call_id: 'call_b', content: 'second result' },
      { role: 'user', content: 'and now?' },
    ],
  }
}

/** Every string of a body with its path. */
function stringsOf(value: Loose, path = ''): readonly (readonly [string, string])[] {
  if (typeof value === 'string') return [[path, value]]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, field]) => stringsOf(field, `${path}.${name}`))
}

/** Where each format has the bytes of media. */
const MEDIA_FIELDS: Readonly<Record<FormatName, RegExp>> = {
  openai: /\.(image_url\.url|file\.file_data)$/,
  compatible: /\.(image_url\.url|file\.file_data)$/,
  responses: /\.(image_url|file_data)$/,
  anthropic: /\.source\.data$/,
  gemini: /\.inlineData\.data$/,
  mistral: /\.(image_url\.url|document_url)$/,
  deepseek: /\.(image_url\.url|file\.file_data)$/,
}

function pathsOf(body: Loose, text: string): readonly string[] {
  return stringsOf(body).flatMap(([path, value]) => (value.includes(text) ? [path] : []))
}

describe('positions of content', () => {
  let bench: TranslationBench
  before(async () => {
    bench = await startTranslationBench()
  })
  after(() => bench.close())

  async function send(combination: Combination, body: object): Promise<{ asked: Asked; body: Loose }> {
    bench.calls.length = 0
    const asked = await bench.ask(combination, { body })
    return { asked, body: bench.calls[0]?.body }
  }

  describe('in the results of tools', () => {
    for (const { title, ...combination } of all) {
      const { dialect, format } = combination

      for (const [name, wanted] of [
        ['image', PNG],
        ['imageUrl', IMAGE_URL],
        ['pdf', PDF],
      ] as const)
        it(`delivers ${name} where the provider accepts it: ${title}`, async () => {
          const { asked, body } = await send(combination, resultBody(dialect, 'text', name))
          equal(asked.status, 200, asked.raw)
          const paths = pathsOf(body, wanted)
          equal(paths.length, 1, paths.join())
          const [path = ''] = paths
          if (name !== 'imageUrl') match(path, MEDIA_FIELDS[format])
          checkPlaces(format, body, path)
          deepEqual(asked.warnings, [])
        })
    }

    /** Results follow their calls without a gap, and media is in them only where the format has it. */
    function checkPlaces(format: FormatName, body: Loose, mediaPath: string): void {
      const [first = ''] = pathsOf(body, 'the text')
      const [second = ''] = pathsOf(body, 'second result')
      const [last = ''] = pathsOf(body, 'and now?')
      const indexOf = (path: string) => path.split('.').slice(2).map(Number)
      const [media = 0] = indexOf(mediaPath)
      switch (format) {
        case 'responses':
          equal(media, indexOf(first)[0])
          break
        case 'anthropic':
          ok(mediaPath.startsWith('.messages.2.content.0.content.'), mediaPath)
          break
        case 'mistral':
          equal(media, indexOf(first)[0])
          ok(body.messages[indexOf(last)[0]! - 1].role === 'assistant')
          break
        case 'gemini': {
          const parts: Loose[] = body.contents[2].parts
          ok(parts[0].functionResponse && parts[1].functionResponse)
          equal(parts.filter(({ functionResponse }) => functionResponse).length, 2)
          ok(mediaPath.startsWith('.contents.2.parts.3'), mediaPath)
          equal(parts.at(-1).text, 'and now?')
          break
        }
        default:
          deepEqual(
            body.messages.map(({ role }: Loose) => role),
            ['user', 'assistant', 'tool', 'tool', 'user', 'user'],
          )
          equal(indexOf(second)[0], 3)
          equal(media, 4)
          equal(typeof body.messages[2].content, 'string')
      }
    }

    for (const { title, ...combination } of combinations(['chat', 'responses'], ['anthropic', 'deepseek']))
      it(`names what no message can hold, and goes on: ${title}`, async () => {
        const { asked, body } = await send(combination, resultBody(combination.dialect as Dialect, 'audio'))
        equal(asked.status, 200, asked.raw)
        ok(
          asked.warnings.some((message) => message.startsWith('audio in tool results was omitted')),
          asked.raw,
        )
        equal(pathsOf(body, 'The audio was left out').length, 1)
        equal(pathsOf(body, 'UklGRg').length, 0)
      })

    for (const dialect of DIALECTS)
      it(`replaces an image by a text for a model that reads none: ${dialect}`, async () => {
        const { asked, body } = await send(
          { dialect, format: 'deepseek', stream: false },
          { model: 'deepseek:blind-1', ...resultBody(dialect, 'text', 'image') },
        )
        equal(asked.status, 200, asked.raw)
        ok(
          asked.warnings.some((message) => message.startsWith('image in tool results was omitted')),
          asked.raw,
        )
        equal(pathsOf(body, PNG).length, 0)
        equal(pathsOf(body, 'The image was left out').length, 1)
      })

    for (const { title, ...combination } of all.filter(({ dialect }) => dialect !== 'messages'))
      it(`is never refused for where it is stored or what it is: ${title}`, async () => {
        const { dialect, format } = combination
        for (const [name, wanted] of Object.entries(UNREADABLE)) {
          const { asked, body } = await send(combination, resultBody(dialect, 'text', name))
          equal(asked.status, 200, `${name}: ${asked.raw}`)
          if (wanted.readBy.has(format)) ok(pathsOf(body, wanted.text).length > 0, name)
          else {
            equal(pathsOf(body, wanted.text).length, 0, name)
            ok(
              asked.warnings.some((message) => message.includes('in tool results was omitted')),
              name,
            )
          }
        }
      })

    it('leaves out a file at Anthropic, which others cannot read', async () => {
      const body = resultBody('messages')
      const source = { type: 'file', file_id: 'file_1' }
      Object(body).messages[2].content[0].content = [{ type: 'image', source }]
      const sent = await send({ dialect: 'messages', format: 'openai', stream: false }, body)
      equal(sent.asked.status, 200, sent.asked.raw)
      ok(sent.asked.warnings.some((message) => message.startsWith('image in tool results was omitted')))
    })
  })

  describe('in instructions and earlier replies', () => {
    for (const { title, ...combination } of all)
      for (const role of combination.dialect === 'messages' ? ['assistant'] : ['developer', 'assistant'])
        it(`is sent as that of the user behind them: ${role}, ${title}`, async () => {
          const { dialect } = combination
          const content = ['text', 'image'].map((name) => PARTS[dialect][name])
          const list = [
            { role: 'user', content: 'look' },
            { role, content },
            { role: 'user', content: 'and now?' },
          ]
          const given = dialect === 'responses' ? { input: list } : { messages: list }
          const { asked, body } = await send(combination, given)
          equal(asked.status, 200, asked.raw)
          deepEqual(asked.warnings, [])
          equal(refusalOf(bench.calls[0]!), undefined)
          const sent: Loose[] = body.messages ?? body.input ?? body.contents
          const holder = sent.findIndex((message) => pathsOf(message, PNG).length > 0)
          equal(sent[holder]?.role, 'user', JSON.stringify(body))
          const [text, image, last] = ['the text', PNG, 'and now?'].map((each) =>
            JSON.stringify(body).indexOf(each),
          )
          ok(0 < text! && text! < image! && image! < last!)
        })
  })

  describe('of the user', () => {
    /** What the formats do not accept; the error names the part as the caller wrote it. */
    const REFUSED: Readonly<Partial<Record<FormatName, readonly string[]>>> = {
      openai: ['pdfUrl'],
      compatible: ['pdfUrl'],
      deepseek: ['pdfUrl', 'audio'],
      anthropic: ['audio'],
    }

    for (const { title, ...combination } of all)
      it(`is delivered, or refused by name: ${title}`, async () => {
        const { dialect, format } = combination
        for (const name of Object.keys(PARTS[dialect])) {
          const { asked, body } = await send(combination, userBody(dialect, 'text', name))
          if (REFUSED[format]?.includes(name)) {
            equal(asked.status, 400, `${name}: ${asked.raw}`)
            equal(bench.calls.length, 0)
            match(
              JSON.stringify(asked.error),
              dialect === 'responses' ? /input\[0\]\.content\[1\]/ : /content\[1\]/,
            )
            continue
          }
          equal(asked.status, 200, `${name}: ${asked.raw}`)
          deepEqual(asked.warnings, [], name)
          const wanted = {
            text: ['the text'],
            image: [PNG],
            imageUrl: [IMAGE_URL],
            pdf: [PDF],
            bare: [PDF],
            pdfUrl: [PDF_URL],
            audio: ['UklGRg'],
            plain: ['plain words'],
            blocks: ['words in a block', PNG],
          }[name]
          for (const text of wanted ?? [])
            ok(pathsOf(body, text).length > 0, `${name}: ${JSON.stringify(body)}`)
          for (const path of [...pathsOf(body, PNG), ...pathsOf(body, PDF)])
            match(path, MEDIA_FIELDS[format], name)
        }
      })

    for (const dialect of DIALECTS)
      it(`refuses an image for a model that reads none: ${dialect}`, async () => {
        const combination = { dialect, format: 'deepseek', stream: false } as const
        const { asked } = await send(combination, {
          model: 'deepseek:blind-1',
          ...userBody(dialect, 'text', 'image'),
        })
        equal(asked.status, 400, asked.raw)
        match(JSON.stringify(asked.error), /blind-1 does not read images/)
        equal(bench.calls.length, 0)
      })

    describe('is refused by the path that the caller wrote', () => {
      const url = PARTS.chat.pdfUrl
      const reply = { role: 'assistant', content: 'Here.', images: [PARTS.chat.image] }

      for (const format of ['openai', 'deepseek', 'compatible'] as const) {
        const chat = { dialect: 'chat', format, stream: false } as const
        it(`chat × ${format}`, async () => {
          const { messages } = resultBody('chat', 'image') as Loose
          const body = {
            messages: [{ role: 'user', content: 'a' }, reply, ...messages, { role: 'user', content: [url] }],
            response_format: { type: 'json_object' },
          }
          const { asked } = await send(chat, body)
          equal(asked.status, 400, asked.raw)
          equal(asked.error.param, 'messages[7].content[0].file.file_url')
          ok(asked.error.message.startsWith(asked.error.param))
        })

        it(`responses × ${format}`, async () => {
          const { input } = resultBody('responses', 'image') as Loose
          const item = { role: 'user', content: [PARTS.responses.pdfUrl] }
          const { asked } = await send(
            { ...chat, dialect: 'responses' },
            { instructions: 'Be brief.', input: [...input, item] },
          )
          equal(asked.error.param, 'input[6].content[0].file_url', asked.raw)
        })

        it(`messages × ${format}`, async () => {
          const { messages } = resultBody('messages', 'image') as Loose
          messages[2].content.push(PARTS.messages.pdfUrl)
          const { asked } = await send({ ...chat, dialect: 'messages' }, { system: 'Be brief.', messages })
          equal(asked.status, 400, asked.raw)
          match(asked.error.message, /^messages\[2\]\.content\[3\]\.source is not supported/)
        })
      }
    })

    it('refuses a document at Anthropic for other providers', async () => {
      const content = [{ type: 'document', source: { type: 'file', file_id: 'file_1' } }]
      const { asked } = await send(
        { dialect: 'messages', format: 'gemini', stream: false },
        { messages: [{ role: 'user', content }] },
      )
      equal(asked.status, 400, asked.raw)
      match(asked.error.message, /messages\[0\]\.content\[0\]/)
    })
  })

  describe('under rules', () => {
    let removals: (() => Promise<unknown>)[] = []
    const addRule = async (rule: object) => {
      const { status, body } = await bench.gateway.call('POST', '/v1/firewall-rules', firewallRuleBody(rule))
      equal(status, 201, JSON.stringify(body))
      removals.push(() => bench.gateway.call('DELETE', `/v1/firewall-rules/${body.id}`))
    }
    afterEach(async () => {
      for (const remove of removals) await remove()
      removals = []
    })

    for (const { title, ...combination } of all.filter(({ stream }) => !stream))
      it(`is inspected before it is placed: ${title}`, async () => {
        await addRule({ type: 'substring', pattern: 'images.test/cat', action: 'block' })
        const { asked } = await send(combination, resultBody(combination.dialect, 'imageUrl'))
        equal(asked.status, 403, asked.raw)
        equal(bench.calls.length, 0)
      })

    for (const { title, ...combination } of all.filter(({ stream }) => !stream))
      it(`is masked where it is placed: ${title}`, async () => {
        await addRule({ type: 'substring', pattern: 'paper', action: 'mask', replacement: 'sheet' })
        const { asked, body } = await send(combination, userBody(combination.dialect, 'pdfUrl'))
        if (asked.status === 400) return
        equal(asked.status, 200, asked.raw)
        equal(pathsOf(body, 'paper').length, 0)
        equal(pathsOf(body, 'https://files.test/sheet.pdf').length, 1)
      })
  })
})
