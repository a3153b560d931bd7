// Claude Code without a terminal.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { API_KEY, BASE_URL, MCP_SERVER, needImages, PNG, runCases } from './cases.mjs'
import { COUNTING_COMMAND, callWith, inFolder, runTool } from './run-tool.mjs'

/** With the prefix `mcp__handbook__`, the name has 83 characters. */
const LONG_NAME = `${'find_items_'.repeat(6)}xy`

/** Options that offer and allow a tool of the server with this name. */
function handbook(name, env) {
  const settings = JSON.stringify({ env })
  const server = { command: process.execPath, args: [MCP_SERVER, name] }
  const config = JSON.stringify({ mcpServers: { handbook: server } })
  const allowed = ['--allowedTools', `mcp__handbook__${name}`]
  return ['--mcp-config', config, '--strict-mcp-config', ...allowed, '--settings', settings]
}

async function runTurn(model, prompt, ...options) {
  return (await runTurns(model, [prompt], ...options))[0]
}

/** Runs one turn per prompt, in one session. Resolves with the results. */
async function runTurns(model, prompts, ...options) {
  return await inFolder(async (folder) => {
    await writeFile(path.join(folder, 'red.png'), Buffer.from(PNG, 'base64'))
    const env = {
      ANTHROPIC_BASE_URL: BASE_URL,
      ANTHROPIC_AUTH_TOKEN: API_KEY,
      ANTHROPIC_MODEL: model,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      MAX_THINKING_TOKENS: '2000',
      MCP_CONNECTION_NONBLOCKING: 'false',
    }
    const results = []
    for (const [index, prompt] of prompts.entries()) {
      const turn = index === 0 ? [] : ['--continue']
      const args = ['-p', prompt, '--output-format', 'json', ...turn, ...options]
      const output = await runTool(process.env.CLAUDE_PROGRAM, args, { cwd: folder, env })
      const line = output.split('\n').find((text) => text.startsWith('{'))
      assert.ok(line, output.slice(-1000))
      results.push(JSON.parse(line))
    }
    return results
  })
}

await runCases('claude-code', {
  async text(model) {
    const { is_error, result } = await runTurn(model, 'Say hello', '--tools', '')
    assert.equal(is_error, false, result)
    assert.match(result, new RegExp(`Say hello.*answering as ${model}`, 's'))
  },
  async 'tool result'(model) {
    const prompt = `Use Bash ${callWith({ command: 'echo from-claude-code', description: 'Greets' })}`
    const { num_turns, result } = await runTurn(
      model,
      prompt,
      ...['--tools', 'Bash', '--allowedTools', 'Bash(echo:*)'],
    )
    assert.equal(num_turns, 2, result)
    assert.match(result, /from-claude-code/)
  },
  async 'tool loop'(model) {
    const call = { command: COUNTING_COMMAND, description: 'Counts' }
    const results = await runTurns(
      model,
      [`Use Bash ${callWith(call, 3)}`, `Use Bash ${callWith(call)}`, `Use Bash ${callWith(call)}`],
      ...['--tools', 'Bash', '--allowedTools', 'Bash'],
    )
    assert.deepEqual(
      results.map(({ num_turns }) => num_turns),
      [4, 2, 2],
      JSON.stringify(results),
    )
    assert.match(results[0].result, /run 3/)
    assert.match(results[2].result, /run 5/)
  },
  async 'image result'(model) {
    needImages(model)
    const results = await runTurns(
      model,
      [`Use Read ${callWith({ file_path: 'red.png' })}`, 'What was on the picture?'],
      ...['--tools', 'Read', '--allowedTools', 'Read'],
    )
    assert.ok(
      results.every(({ is_error }) => !is_error),
      JSON.stringify(results),
    )
    assert.match(results[1].result, /What was on the picture/)
  },
  async mcp(model) {
    for (const name of ['lookup', LONG_NAME]) {
      const { result } = await runTurn(
        model,
        `Use the tool ${callWith({ page: '7' })}`,
        ...['--tools', '', ...handbook(name, { ENABLE_TOOL_SEARCH: 'false' })],
      )
      assert.match(result, /Page 7 says hello/)
    }
  },
  async 'tool search'(model) {
    const tool = 'mcp__handbook__lookup'
    const [, { result }] = await runTurns(
      model,
      [
        `Use ToolSearch ${callWith({ query: `select:${tool}`, max_results: 1 })}`,
        `Use ${tool} ${callWith({ page: '7' })}`,
      ],
      ...handbook('lookup', {}),
    )
    assert.match(result, /Page 7 says hello/)
  },
  async 'count tokens'(model) {
    const { is_error, result } = await runTurn(model, '/context', '--tools', 'Bash')
    assert.equal(is_error, false, result)
    assert.match(result, /tokens/i)
  },
  async errors(model) {
    const { is_error, result } = await runTurn(model, 'This is forbidden', '--tools', '')
    assert.equal(is_error, true)
    assert.match(result, /blocked by firewall rule/)
    const long = await runTurn(model, 'Hi [[sandbox:error=overflow]]', '--tools', '')
    assert.match(long.result, /prompt is too long/i)
  },
})
