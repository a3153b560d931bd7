import { expect } from 'chai'
import { ERROR_CODES, type ErrorCode, GatewayError } from '../../../../core/contract/index.ts'
import { ERROR_WORDS, toWords } from '../../../../core/http/error-words.ts'
import { formatError } from '../../../../core/http/errors.ts'
import { readSource } from '../../../support/source-files.ts'

/** The rows of the table in docs/guides/errors.md, by error. */
function documentedRows(): ReadonlyMap<string, readonly string[]> {
  const rows = readSource('docs/guides/errors.md')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
  return new Map(rows.map((row) => [/`(\w+)`/.exec(row)![1]!, row.split('|').map((cell) => cell.trim())]))
}

function errorOf(name: string): GatewayError {
  const code = Object.hasOwn(ERROR_CODES, name) ? (name as ErrorCode) : 'provider_refused'
  return new GatewayError(code, 'No.', {
    wireCode: name,
    ...(name === 'request_too_large' && { status: 413 }),
  })
}

describe('the words of errors', () => {
  const rows = documentedRows()

  it('are all listed in docs/guides/errors.md', () => {
    expect([...rows.keys()]).to.include.members(Object.keys(ERROR_WORDS))
  })

  for (const [name, [, , openai = '', , anthropic = '']] of rows)
    it(`are those of docs/guides/errors.md: ${name}`, () => {
      const error = errorOf(name)
      const { status, code } = toWords(error, 'openai')
      expect(openai).to.match(new RegExp(`^${status}, code (?:and type )?\`${code}\``))
      const { type, http_status } = Object(formatError(error, 'anthropic').error)
      expect(anthropic.startsWith(`${http_status} \`${type}\``), `${http_status} ${type}`).to.equal(true)
    })
})
