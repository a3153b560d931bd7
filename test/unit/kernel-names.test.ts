import { expect } from 'chai'
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

describe('the code of the kernel', () => {
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

/** The lines of `core/` with one of the names, in any letter case; comments may have them. */
function findNames(names: readonly string[], except: readonly string[]): readonly string[] {
  const pattern = new RegExp(`\\b(?:${names.join('|')})`, 'i')
  return listFiles('core', '.ts')
    .filter((file) => !except.includes(file))
    .flatMap((file) => {
      const lines = withoutComments(readSource(file)).split('\n')
      return lines.flatMap((line, index) =>
        pattern.test(line) ? [`${file}:${index + 1} ${line.trim()}`] : [],
      )
    })
}

function withoutComments(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, (comment) => comment.replace(/[^\n]/g, ''))
}
