#!/usr/bin/env node
import "../packages/retinue/dist/main.js";
