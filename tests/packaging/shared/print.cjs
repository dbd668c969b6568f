const { outcome } = require("./job.js");

outcome().then((result) => console.log(JSON.stringify(result)));
