/** Bodies of `POST /v1/messages` with a word in one position. */
export function messagePositions(word: string, number: number): Readonly<Record<string, object>> {
  const base64 = Buffer.from(`a ${word} b`).toString('base64')
  const signature = 'S'.repeat(80)
  const user = (content: unknown) => ({ max_tokens: 100, messages: [{ role: 'user', content }] })
  const text = { type: 'text', text: 'hello' }
  const withField = (field: object) => ({ ...user('hello'), ...field })
  const withTool = (tool: object) =>
    withField({ tools: [{ name: 'look', input_schema: { type: 'object' }, ...tool }] })
  const replied = (...blocks: readonly object[]) => ({
    max_tokens: 100,
    messages: [
      { role: 'user', content: 'hello' },
      { role: 'assistant', content: [...blocks, text] },
      { role: 'user', content: 'go on' },
    ],
  })
  const called = (call: object, result: object = {}) => ({
    max_tokens: 100,
    messages: [
      { role: 'user', content: 'hello' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {}, ...call }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'ok', ...result }],
      },
    ],
  })
  const document = (source: object, more: object = {}) => user([{ type: 'document', source, ...more }, text])
  const plain = { type: 'text', media_type: 'text/plain', data: 'hello' }
  return {
    'a user message': user(`a ${word} b`),
    'a text block': user([{ type: 'text', text: word }]),
    'a field beside a text': user([{ ...text, caption: word }]),
    'the system prompt': withField({ system: word }),
    'a block of the system prompt': withField({ system: [{ type: 'text', text: `data: ${word}` }] }),
    'a system message': {
      max_tokens: 100,
      messages: [...user('hello').messages, { role: 'system', content: word }],
    },
    'an image URL': user([{ type: 'image', source: { type: 'url', url: `https://x.test/${word}` } }, text]),
    'an image of an unknown kind': user([{ type: 'image', source: { type: 'x', note: word } }, text]),
    'a media type': user([{ type: 'image', source: { type: 'base64', media_type: word, data: 'x' } }, text]),
    'a text document': document({ ...plain, data: word }),
    'a text document that looks like base64': document({ ...plain, data: `${'A'.repeat(200)}${word}` }),
    'a text that claims to be a PDF': document({
      ...plain,
      type: 'base64',
      media_type: 'application/pdf',
      data: base64,
    }),
    'a text in base64': document({ type: 'base64', media_type: 'text/plain', data: base64 }),
    'the URL of a document': document({ type: 'url', url: `https://x.test/${word}` }),
    'the content of a document': document({ type: 'content', content: [{ type: 'text', text: word }] }),
    'the title of a document': document(plain, { title: word }),
    'the context of a document': document(plain, { context: word }),
    'a search result': user([
      { type: 'search_result', source: 'a', title: 'b', content: [{ type: 'text', text: word }] },
      text,
    ]),
    'an unknown block': user([{ type: 'hologram', hologram: { note: [word] } }, text]),
    'a number in an unknown block': user([{ type: 'hologram', depth: number }, text]),
    'the name of a field of an unknown block': user([{ type: 'hologram', [word]: true }, text]),
    thinking: replied({ type: 'thinking', thinking: word, signature }),
    'a signature that is text': replied({ type: 'thinking', thinking: 'x', signature: word }),
    'redacted thinking that is text': replied({ type: 'redacted_thinking', data: word }),
    'the call of a tool of Anthropic': replied({
      ...{ type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search' },
      input: { query: word },
    }),
    'the result of a tool of Anthropic': replied({
      ...{ type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1' },
      content: [{ type: 'web_search_result', title: word, encrypted_content: signature }],
    }),
    'a citation': replied({ ...text, citations: [{ type: 'char_location', cited_text: word }] }),
    'the input of a call': called({ input: { deep: [{ q: word }] } }),
    'a number in the input of a call': called({ input: { q: number } }),
    'a key of the input of a call': called({ input: { [word]: 1 } }),
    'a field of a call': called({ note: word }),
    'a result': called({}, { content: JSON.stringify({ found: word }) }),
    'a block of a result': called({}, { content: [{ type: 'text', text: word }] }),
    'a field of a result': called({}, { note: word }),
    'the description of a tool': withTool({ description: word }),
    'a property of a tool': withTool({ input_schema: { type: 'object', properties: { [word]: {} } } }),
    'a field of a tool': withTool({ input_examples: [{ q: word }] }),
    'a tool of Anthropic': withField({
      tools: [{ type: 'web_search_20250305', name: 'web_search', allowed_domains: [word] }],
    }),
    'a server of tools': withField({
      mcp_servers: [{ type: 'url', name: 'a', url: `https://x.test/${word}` }],
    }),
    'a stop sequence': withField({ stop_sequences: [word] }),
    'the id of the user': withField({ metadata: { user_id: word } }),
    'a long id of the user': withField({ metadata: { user_id: `${'u'.repeat(70)} ${word}` } }),
    'metadata in the id of the user': withField({ metadata: { user_id: JSON.stringify({ team: word }) } }),
    'a service tier': withField({ service_tier: word }),
    'a kind of thinking': withField({ thinking: { type: word } }),
    'the schema of the reply': withField({
      output_config: { format: { type: 'json_schema', schema: { type: 'object', title: word } } },
    }),
    'an effort': withField({ output_config: { effort: word } }),
    'an unknown field': withField({ x_note: { deep: [word] } }),
    'the name of an unknown field': withField({ [word]: true }),
  }
}
