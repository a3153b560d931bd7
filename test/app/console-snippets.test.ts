import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { type ChatDraft, EMPTY_CHAT } from '../../plugins/console/app/lib/chat-draft.ts'
import { SNIPPETS, type SnippetName } from '../../plugins/console/app/lib/snippets.ts'
import { makeFolder } from '../support/folders.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { ROOT } from '../support/root.ts'
import {
  chunk,
  completion,
  type ScriptedProvider,
  startScriptedProvider,
} from '../support/scripted-provider.ts'
import { skip } from '../support/skip.ts'

const run = promisify(execFile)

/** What a shell, Python and JavaScript treat in a special way. */
const AWKWARD = `It's "quoted" $HOME \`id\` \${x} \\n %s {y} 'twice'' é 😀\nsecond line\tand \u2028`

const DRAFT: ChatDraft = {
  ...EMPTY_CHAT,
  model: 'gpt-4o',
  system: `Be brief: ${AWKWARD}`,
  prompt: AWKWARD,
  temperature: '0.5',
  maxTokens: '50',
}

/** Prints what it is called with, in place of the libraries. */
const PYTHON_STUB = `import json
class Named:
    def __init__(self, **options): self.options = options
    def __getattr__(self, name): return self
    def __getitem__(self, index): return self
    def __iter__(self): return iter([])
    def __enter__(self): return self
    def __exit__(self, *_): pass
    def __call__(self, **arguments):
        print(json.dumps([self.options, arguments]))
        return self
    create = stream = __call__
OpenAI = Anthropic = Named
`

describe('the code that the console shows for a request', function () {
  this.timeout(30_000)
  let provider: ScriptedProvider
  let gateway: RunningGateway
  let folder: string

  before(async () => {
    provider = await startScriptedProvider()
    gateway = await startGateway({ OPENAI_BASE_URL: provider.url, OPENAI_API_KEY: 'a-key' })
    folder = await makeFolder()
    for (const name of ['openai', 'anthropic']) await writeFile(path.join(folder, `${name}.py`), PYTHON_STUB)
  })
  after(async () => {
    await gateway?.stop()
    provider?.close()
  })

  const codeOf = (name: SnippetName, draft: ChatDraft) => SNIPPETS[name](`${gateway.url}/`, draft)
  const options = () => ({
    cwd: fileURLToPath(ROOT),
    env: { PATH: process.env.PATH, SIGNALBOX_KEY: gateway.demoKey, PYTHONPATH: folder },
  })

  async function runCode(name: SnippetName, draft: ChatDraft): Promise<string> {
    provider.play(
      draft.isStreamed
        ? { chunks: [chunk({ content: 'Hel' }), chunk({ content: 'lo' }), chunk({}, 'stop')] }
        : { body: completion({ content: 'Hello' }) },
    )
    const code = codeOf(name, draft)
    const [program, args]: [string, string[]] =
      name === 'curl' ? ['bash', ['-c', code]] : ['node', ['--input-type=module', '-e', code]]
    return (await run(program, args, options())).stdout
  }

  for (const isStreamed of [true, false]) {
    const draft = { ...DRAFT, isStreamed }
    const how = isStreamed ? 'streamed' : 'whole'

    it(`sends it with curl, ${how}`, async () => {
      expect(await runCode('curl', draft)).to.contain(isStreamed ? '"content":"Hel"' : '"content":"Hello"')
      expectSent(isStreamed)
    })

    it(`sends it with the JavaScript SDK, ${how}`, async () => {
      expect((await runCode('OpenAI JavaScript', draft)).trim()).to.equal('Hello')
      expectSent(isStreamed)
    })

    it(`calls the Python SDKs with its parameters, ${how}`, async function () {
      const call = async (name: SnippetName) => {
        const { stdout } = await run('python3', ['-c', codeOf(name, draft)], options())
        return JSON.parse(stdout.split('\n', 1)[0] ?? '')
      }
      if ((await run('python3', ['--version']).catch(() => undefined)) === undefined)
        skip(this, 'python3 is not installed')
      const user = { role: 'user', content: DRAFT.prompt }
      const common = { model: 'gpt-4o', temperature: 0.5, max_tokens: 50 }
      expect(await call('OpenAI Python')).to.deep.equal([
        { base_url: `${gateway.url}/v1`, api_key: gateway.demoKey },
        {
          ...common,
          messages: [{ role: 'system', content: DRAFT.system }, user],
          ...(isStreamed && { stream: true }),
        },
      ])
      expect(await call('Anthropic Python')).to.deep.equal([
        { base_url: gateway.url, api_key: gateway.demoKey },
        {
          ...{ model: 'gpt-4o', max_tokens: 50, system: DRAFT.system, messages: [user] },
          extra_body: { temperature: 0.5 },
        },
      ])
    })
  }

  it('leaves out what is empty, and gives the limit that Anthropic requires', () => {
    const draft = { ...EMPTY_CHAT, prompt: 'Hi', isStreamed: false }
    expect(codeOf('OpenAI Python', draft)).not.to.match(/system|temperature|max_tokens|stream/)
    expect(codeOf('Anthropic Python', draft))
      .to.contain('max_tokens=1024,')
      .and.not.to.match(/system|temperature/)
  })

  function expectSent(isStreamed: boolean): void {
    const { messages, temperature, stream, ...body } = provider.last()?.body ?? {}
    expect(messages).to.deep.equal([
      { role: 'system', content: DRAFT.system },
      { role: 'user', content: DRAFT.prompt },
    ])
    expect([temperature, body.max_completion_tokens ?? body.max_tokens]).to.deep.equal([0.5, 50])
    expect(stream === true).to.equal(isStreamed)
  }
})
