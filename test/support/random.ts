export { createRandom, type Random } from '../../core/util/random.ts'
