import { expect } from 'chai'
import { BUILT_IN_PLUGINS } from '../../config/gateway/built-in-plugins.ts'
import { ADAPTERS } from '../../providers/adapters.ts'
import { listFiles, readSource } from '../support/source-files.ts'

/** APIs that the gateway itself serves. */
const SERVED = ['openai', 'anthropic']

/** Tables by families of models. */
const MODEL_TABLES = ['text-tokens', 'prompt-tokens'].map((name) => `core/tokens/${name}.ts`)

/** Programs that call the gateway. */
const USER_AGENTS = [
  ...['tokenrouter', 'codex', 'claude-cli', 'cline', 'aider', 'litellm', 'openrouter', 'langchain'],
  ...['curl', 'httpie', 'postman', 'insomnia', 'python-requests'],
]

/** Chooses the form of responses by the program that asks. */
const CLIENT_FORMS = ['core/dialects/response-form.ts']

/** Answers unknown paths of Anthropic's API in its form. */
const ERROR_FORMS = ['core/http/routes.ts']

/** Names of plugins that are also fields of requests and exchanges, parts of replies, actors, or tags. */
const FIELDS = ['identity', 'messages', 'reasoning', 'responses', 'models', 'policies', 'rules']

const PLUGIN_NAMES = [...BUILT_IN_PLUGINS.keys()].filter((name) => !FIELDS.includes(name))

/** What a quoted name of a plugin may mean otherwise: a label, a quirk, and advice in errors. */
const OTHER_MEANINGS =
  /labelNames: \['cache'|thinking === 'budget'|Add "(auth|dispatch)" to the list of plugins/

/** Where a plugin is looked up by its name: for links to the console, the ledger and its masks, warnings. */
const LOOK_UPS = [
  'config/gateway/banner.ts',
  'config/gateway/gateway-services.ts',
  'config/gateway/rule-services.ts',
  'plugins/ledger/plugin.ts',
]

describe('the code of the kernel', () => {
  it('names no plugin', () => {
    const quoted = new RegExp(`['"\`](${PLUGIN_NAMES.join('|')})['"\`]`)
    const found = findLines(listFiles('core', '.ts'), quoted)
    expect(found.filter((line) => !OTHER_MEANINGS.test(line))).to.deep.equal([])
  })

  it('names no provider whose API the gateway does not serve', () => {
    const formats = ADAPTERS.map(({ format }) => format).filter((format) => !SERVED.includes(format))
    expect(findNames(formats, MODEL_TABLES)).to.deep.equal([])
  })

  it('names no user agent', () => {
    expect(findNames(USER_AGENTS, CLIENT_FORMS)).to.deep.equal([])
  })

  it('names no path for clients, which plugins serve', () => {
    expect(findNames(['v1/'], ERROR_FORMS)).to.deep.equal([])
  })
})

describe('plugins and the gateway', () => {
  it('look no other plugin up by its name', () => {
    const name = `['"](${[...BUILT_IN_PLUGINS.keys()].join('|')})['"]`
    const lookUp = new RegExp(
      `(\\.name|\\buse|\\bname) === ${name}|(ames|lugins)\\.(includes|indexOf)\\(${name}`,
    )
    const files = ['plugins', 'config/gateway'].flatMap((folder) => listFiles(folder, '.ts'))
    expect(
      findLines(
        files.filter((file) => !LOOK_UPS.includes(file)),
        lookUp,
      ),
    ).to.deep.equal([])
  })
})

/** The lines of `core/` with one of the names, in any letter case; comments may have them. */
function findNames(names: readonly string[], except: readonly string[]): readonly string[] {
  const files = listFiles('core', '.ts').filter((file) => !except.includes(file))
  return findLines(files, new RegExp(`\\b(?:${names.join('|')})`, 'i'))
}

function findLines(files: readonly string[], pattern: RegExp): readonly string[] {
  return files.flatMap((file) => {
    const lines = withoutComments(readSource(file)).split('\n')
    return lines.flatMap((line, index) => (pattern.test(line) ? [`${file}:${index + 1} ${line.trim()}`] : []))
  })
}

function withoutComments(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, (comment) => comment.replace(/[^\n]/g, ''))
}
