/** The providers, with the paths of their formats on the upstream. */
export const PROVIDERS = [
  {
    name: 'openai',
    model: 'gpt-4o',
    wholePath: '/openai/v1/chat/completions',
    streamPath: '/openai/v1/chat/completions',
  },
  {
    name: 'anthropic',
    model: 'claude-haiku-5-5',
    wholePath: '/anthropic/v1/messages',
    streamPath: '/anthropic/v1/messages',
  },
  {
    name: 'gemini',
    model: 'gemini-3.8-flash',
    wholePath: '/gemini/v1beta/models/gemini-3.8-flash:generateContent',
    streamPath: '/gemini/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse',
  },
  {
    name: 'mistral',
    model: 'mistral-medium-3.5',
    wholePath: '/mistral/v1/chat/completions',
    streamPath: '/mistral/v1/chat/completions',
  },
  {
    name: 'deepseek',
    model: 'deepseek-flash',
    wholePath: '/deepseek/chat/completions',
    streamPath: '/deepseek/chat/completions',
  },
] as const

export type ProviderName = (typeof PROVIDERS)[number]['name']
