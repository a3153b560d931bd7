import { expect } from 'chai'
import { createFormChooser } from '../../../../core/dialects/response-form.ts'

const TOOLS = [
  ...['curl/8.5.0', 'Wget/1.21', 'HTTPie/3.2', 'PostmanRuntime/7.39', 'insomnia/9.1', 'bruno-runtime/1.2'],
  ...['Mozilla/5.0 (X11; Linux x86_64)', 'node', 'undici', 'Deno/2.1', 'Bun/1.2', 'python-requests/2.32'],
  ...['python-httpx/0.28', 'Python-urllib/3.12', 'Python/3.12 aiohttp/3.11'],
]

const CLIENTS = [
  ...['Go-http-client/1.1', 'reqwest/0.12', 'ktor-client', 'AsyncOpenAI/Python 2.7.1', 'OpenAI/JS 6.1'],
  ...['ai/6.0.1 ai-sdk/openai/3.0.0', 'codex_cli_rs/0.60.0', 'node openai/4.0', 'nodemailer/1.0'],
  ...['OpenAI/2.15.0 (.NET 9.0.4; Linux)', 'OpenAI/Go 3.96.0', 'OpenAI/Java 4.101.0', 'async-openai'],
  ...['Java-http-client/17.0.15', 'okhttp/4.12.0', 'langchain4j-openai'],
]

describe('the form of an answer', () => {
  const detect = createFormChooser('detect')

  it("is the interface's for plain HTTP tools", () => {
    for (const tool of TOOLS) expect(detect({ 'user-agent': tool }), tool).to.equal('interface')
    expect(detect({ 'user-agent': 'curl/8.5.0' }, 'openai')).to.equal('openai')
  })

  it("is OpenAI's for everybody else", () => {
    for (const client of CLIENTS) expect(detect({ 'user-agent': client }), client).to.equal('openai')
    expect(detect({})).to.equal('openai')
    expect(detect({ 'user-agent': 'node', 'x-stainless-lang': 'js' })).to.equal('openai')
    expect(detect({ 'user-agent': 'node', 'openai-beta': 'responses=v1' })).to.equal('openai')
  })

  it('is that of the setting, and first of all that of the header', () => {
    expect(createFormChooser('interface')({})).to.equal('interface')
    expect(createFormChooser('openai')({ 'user-agent': 'curl/8.5.0' })).to.equal('openai')
    expect(createFormChooser('interface')({ 'x-response-form': 'openai' })).to.equal('openai')
    expect(detect({ 'x-response-form': 'interface' }, 'openai')).to.equal('interface')
    expect(() => detect({ 'x-response-form': 'xml' })).to.throw('must be "interface" or "openai"')
  })
})
