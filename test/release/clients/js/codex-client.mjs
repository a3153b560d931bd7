// Codex CLI, as it comes: it offers functions, namespaces, custom tools and hosted tools.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { API_KEY, BASE_URL, MCP_SERVER, needImages, PNG, runCases } from './cases.mjs'
import { COUNTING_COMMAND, callWith, inFolder, runTool } from './run-tool.mjs'

/** Codex knows this model, and offers `apply_patch` as a custom tool only to models that it knows. */
const KNOWN_MODEL = 'gpt-5.5'

/**
 * Runs one turn per prompt. Resolves with the events, the last text, and the contents of the file
 * `hello.txt`, if there is one.
 */
async function runTurns(model, ...prompts) {
  return await inFolder(async (folder) => {
    const config = `model = "${model}"
model_provider = "signalbox"
approval_policy = "never"
sandbox_mode = "danger-full-access"
model_reasoning_effort = "low"
[model_providers.signalbox]
name = "Signalbox"
base_url = "${BASE_URL}/v1"
env_key = "API_KEY"
wire_api = "responses"
[analytics]
enabled = false
[mcp_servers.handbook]
command = "${process.execPath}"
args = ["${MCP_SERVER}"]
default_tools_approval_mode = "approve"
`
    await writeFile(path.join(folder, 'config.toml'), config)
    await writeFile(path.join(folder, 'red.png'), Buffer.from(PNG, 'base64'))
    let output = ''
    for (const [index, prompt] of prompts.entries()) {
      const turn = index === 0 ? [] : ['resume', '--last']
      const args = [process.env.CODEX_SCRIPT, 'exec', '--json', '--skip-git-repo-check', ...turn, prompt]
      output += await runTool(process.execPath, args, { cwd: folder, env: { CODEX_HOME: folder, API_KEY } })
    }
    const lines = output.split('\n').filter((line) => line.startsWith('{'))
    const items = lines.map((line) => JSON.parse(line).item).filter(Boolean)
    const file = await readFile(path.join(folder, 'hello.txt'), 'utf8').catch(() => undefined)
    const text = items.findLast(({ type }) => type === 'agent_message')?.text
    assert.ok(text, output.slice(-1000))
    return { items, text, file }
  })
}

/** Sends the requests of Codex for the model that it knows to another one. */
async function routeTo(model) {
  const response = await fetch(`${BASE_URL}/v1/routing-rules`, {
    method: 'POST',
    headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      name: `codex on ${model}`,
      is_enabled: true,
      priority: 0,
      match_json: { contains: `for ${model}` },
      action_json: { set_model: model },
    }),
  })
  assert.equal(response.status, 201)
}

await runCases('codex', {
  async text(model) {
    const { text } = await runTurns(model, 'Say hello')
    assert.match(text, /Say hello.*answering as/s)
  },
  async 'tool result'(model) {
    const prompt = `Use exec_command ${callWith({ cmd: 'echo from-codex' })}`
    const { items, text } = await runTurns(model, prompt)
    assert.ok(items.some(({ type }) => type === 'command_execution'))
    assert.match(text, /from-codex/)
  },
  async 'tool loop'(model) {
    const { items, text } = await runTurns(
      model,
      `Use exec_command ${callWith({ cmd: COUNTING_COMMAND }, 3)}`,
      `Use exec_command ${callWith({ cmd: COUNTING_COMMAND })}`,
      'What did you do?',
      `Use exec_command ${callWith({ cmd: COUNTING_COMMAND })}`,
    )
    const runs = items.filter(({ type, status }) => type === 'command_execution' && status === 'completed')
    assert.equal(runs.length, 5)
    assert.match(text, /run 5/)
  },
  async 'image result'(model) {
    needImages(model)
    const { text } = await runTurns(
      model,
      `Use view_image ${callWith({ path: 'red.png' })}`,
      'What was on the picture?',
    )
    assert.match(text, /What was on the picture/)
  },
  async 'namespace tool'(model) {
    const { text } = await runTurns(
      model,
      `Use multi_agent_v1__close_agent ${callWith({ target: 'nobody' })}`,
    )
    assert.match(text, /The tool answered/)
    assert.doesNotMatch(text, /unsupported|unknown tool/i)
  },
  async 'tool search'(model) {
    await routeTo(model)
    const { items, text } = await runTurns(
      KNOWN_MODEL,
      `Use tool_search for ${model} ${callWith({ query: 'page of the handbook' })}`,
      `Use mcp__handbook__lookup for ${model} ${callWith({ page: '7' })}`,
    )
    const call = items.findLast(({ type }) => type === 'mcp_tool_call')
    assert.equal(call?.status, 'completed', JSON.stringify(items))
    assert.match(text, /Page 7 says hello/)
  },
  async apply_patch(model) {
    await routeTo(model)
    const input = '*** Begin Patch\n*** Add File: hello.txt\n+Hello\n*** End Patch\n'
    const prompt = `Use apply_patch for ${model} ${callWith({ input })}`
    const { file, text } = await runTurns(KNOWN_MODEL, prompt)
    assert.equal(file, 'Hello\n')
    assert.match(text, new RegExp(`answering as ${model}`))
  },
})
