import type { Answer, Question, Stamp, ToolOffer } from './question.ts'
import { sampleJson } from './sample.ts'
import { countTokens, takeTokens } from './tokens.ts'
import { chooseTools } from './tool-choice.ts'

/** The sandbox's answer to a question: always the same for the same question. */
export function answerQuestion(question: Question, stamp: Stamp): Answer {
  const tools = chooseTools(question)
  return tools.length > 0 ? callTools(question, tools, stamp) : speak(question, stamp)
}

function callTools(question: Question, tools: readonly ToolOffer[], stamp: Stamp): Answer {
  const toolCalls = tools.map(({ name, schema }, index) => ({
    id: `call_${stamp.id}${index}`,
    name,
    json: JSON.stringify(sampleJson({ type: 'object', ...schema })),
  }))
  const said = toolCalls.map(({ name, json }) => name + json).join('')
  return {
    ...stamp,
    model: question.model,
    text: '',
    toolCalls,
    finish: 'tool_calls',
    usage: { input: countInput(question), output: countTokens(said) },
  }
}

function speak(question: Question, stamp: Stamp): Answer {
  const { maxTokens = Number.POSITIVE_INFINITY } = question
  const full = cutAtStop(compose(question), question.stop)
  const fits = countTokens(full) <= maxTokens
  const text = fits ? full : takeTokens(full, maxTokens)
  return {
    ...stamp,
    model: question.model,
    text,
    toolCalls: [],
    finish: fits ? 'stop' : 'length',
    usage: { input: countInput(question), output: countTokens(text) },
  }
}

function compose(question: Question): string {
  const { output } = question
  switch (output.type) {
    case 'text':
      return writeProse(question)
    case 'json':
      return JSON.stringify({ you_said: question.userText, model: question.model })
    case 'schema':
      return JSON.stringify(sampleJson(output.schema))
  }
}

function writeProse({ toolResults, userText, model }: Question): string {
  const sentences = [
    ...toolResults.map((result) => `The tool answered: "${result}".`),
    `You said: "${userText}".`,
    `This is the sandbox, answering as ${model}.`,
  ]
  return sentences.join(' ')
}

function cutAtStop(text: string, stop: readonly string[]): string {
  const ends = stop.map((sequence) => text.indexOf(sequence)).filter((index) => index !== -1)
  return text.slice(0, Math.min(text.length, ...ends))
}

function countInput({ texts }: Question): number {
  return countTokens(texts.join(''))
}
